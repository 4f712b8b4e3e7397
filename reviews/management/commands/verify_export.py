import argparse
import re
import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from reviews.exports import verify_receipt
from reviews.exports.verify_export import Comparison
from reviews.exports.verify_log import AuditLogFile, UnreadableAuditLog, verify_with_log
from reviews.exports.verify_receipt import UNREADABLE, InvalidReceipt
from reviews.management.arguments import add_map, read_mapping
from reviews.management.errors import command_errors

_NOT_TRUSTED = (
    "Signer not checked: anybody can edit a receipt and sign it with another key. Pass the site's key with "
    "--public-key."
)

_TABLE = "a table, whose lines are not compared"


class Command(BaseCommand):
    help = (
        "Verify that an export differs from the imported files only in human decisions. Needs no database. "
        "Optionally checks the receipt and the audit log, too. Files are recognised by their content: JSONL, "
        "a JSON array or a document (with --map), plain or compressed with gzip or zstd. For a run of "
        "several files, pass all of them in the order of their imports, or only the last one if it contains "
        "the others. Exit status: 0 verified, 1 anything but human_* values differs, or the receipt or the "
        "audit log does not match, 2 a file cannot be read."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "originals", metavar="ORIGINAL", nargs="+", help="imported files in the order of their imports"
        )
        parser.add_argument("exported", metavar="EXPORTED", help="the export")
        parser.add_argument("--receipt", metavar="FILE", help="receipt written with the export")
        parser.add_argument(
            "--public-key",
            metavar="KEY",
            type=_public_key,
            help="with --receipt: the site's key, as printed by public_key",
        )
        parser.add_argument(
            "--audit-log",
            metavar="FILE",
            help="file written by export_audit at the time of the export (with --receipt: then or later)",
        )
        add_map(parser, "mapping that the originals were imported with")

    def handle(self, *args: Any, **options: Any) -> None:
        originals, exported = [Path(name) for name in options["originals"]], Path(options["exported"])
        audit_log, mapping = None, read_mapping(options["map"])
        with command_errors(InvalidReceipt, UnreadableAuditLog, *UNREADABLE):
            receipt = verify_receipt.read_receipt(Path(options["receipt"])) if options["receipt"] else None
            if options["audit_log"]:
                with Path(options["audit_log"]).open("rb") as file:
                    audit_log = AuditLogFile(file, options["audit_log"])
                    result = verify_with_log(
                        audit_log, originals, exported, settings.LIMITS, receipt, mapping=mapping
                    )
            else:
                result = verify_receipt.verify_files(
                    receipt, originals, exported, settings.LIMITS, mapping=mapping
                )
        if receipt:
            unsigned = verify_receipt.signature_problem(Path(options["receipt"]), options["public_key"] or "")
            if unsigned:
                result.found(unsigned)
            elif not options["public_key"]:
                self.stderr.write(_NOT_TRUSTED)
        self._report(result, with_receipt=receipt is not None, audit_log=audit_log)

    def _report(self, result: Comparison, *, with_receipt: bool, audit_log: AuditLogFile | None) -> None:
        keys = f": {', '.join(result.changed_keys)}" if result.changed else ""
        why = "" if with_receipt else " (no records)"
        left_out = f"; {result.left_out:,} left out{why}" if result.left_out else ""
        holds = "; matches the receipt" if with_receipt and result.holds else ""
        holds += f"; matches the audit log up to {audit_log.head}" if audit_log and result.holds else ""
        counts = f"{result.identical:,} identical, {result.changed:,} changed{keys}{left_out}"
        self.stdout.write((_TABLE if result.is_table else counts) + holds)
        for problem in result.problems:
            self.stderr.write(problem)
        if not result.holds:
            self.stderr.write(f"Unexplained differences: {result.problem_count:,}")
            sys.exit(1)


def _public_key(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a public key of 64 hexadecimal digits")
    return text
