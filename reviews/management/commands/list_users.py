import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.accounts import people
from reviews.accounts.permissions import ROLES, loaded_role
from reviews.management.columns import columns


class Command(BaseCommand):
    help = "List the accounts with role, state, second factor and last activity."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--role", choices=[*ROLES, "none"], default="", help="only this role")
        parser.add_argument("--json", action="store_true", help="print one JSON list")

    def handle(self, *args: Any, **options: Any) -> None:
        found: list[Any] = list(people.find_people(role=options["role"]))
        if options["json"]:
            self.stdout.write(json.dumps(people.describe(found), ensure_ascii=False))
            return
        activity, table = people.last_activity(found), []
        for person in found:
            latest = activity[person.pk].latest
            table.append(
                (
                    person.username,
                    loaded_role(person) or "none",
                    "active" if person.is_active else "deactivated",
                    "yes" if person.has_second_factor else "no",
                    f"{latest[1]:%Y-%m-%d %H:%M} UTC, {latest[0]}" if latest else "never",
                )
            )
        if not table:
            self.stderr.write("No accounts. Add one with add_user.")
        for line in columns(("Username", "Role", "State", "Second factor", "Last activity"), table):
            self.stdout.write(line)
