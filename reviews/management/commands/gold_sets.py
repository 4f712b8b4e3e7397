import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reviews.judge.gold import gold_file, gold_sets
from reviews.judge.gold.measurement import GOLD_FILTERS, described, measure
from reviews.judge.scope import SCOPE_FILTERS, read_record_scope, read_scope
from reviews.management.arguments import add_output, clean_name, find_run, not_found, open_input
from reviews.management.errors import command_errors
from reviews.management.judge_filters import add_filters, require_valid
from reviews.management.output_files import write_with_retry
from reviews.management.report_tables import gold_parts
from reviews.management.text_tables import print_parts
from reviews.models import GoldSet
from reviews.rubric.run_settings import InvalidSettings
from reviews.storage.chunks import read_blocks


class Command(BaseCommand):
    help = (
        "Keep human decisions of a run as a gold set, and measure the judges of other runs against it. Exit "
        "status 2 if there is no such run or gold set."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        listing = actions.add_parser("list", help="list the gold sets, newest first")
        listing.add_argument("--json", action="store_true", help="print one JSON list")
        freeze = actions.add_parser("freeze", help="freeze the decisions of a run")
        freeze.add_argument("name", metavar="NAME", help="name of the new gold set")
        freeze.add_argument("run", metavar="RUN", help="name of the run")
        add_filters(freeze, SCOPE_FILTERS, "freeze only ratings")
        against = actions.add_parser("measure", help="measure the judge of a run against a gold set")
        against.add_argument("name", metavar="NAME", help="name of the gold set")
        against.add_argument("run", metavar="RUN", help="name of the run")
        add_filters(against, GOLD_FILTERS, "measure only records")
        against.add_argument("--json", action="store_true", help="print one JSON object with every metric")
        export = actions.add_parser("export", help="write a gold set as JSONL")
        export.add_argument("name", metavar="NAME", help="name of the gold set")
        add_output(export)
        bring = actions.add_parser("import", help="import an exported gold set")
        bring.add_argument("file", metavar="FILE", help="JSONL file, or - for standard input")
        bring.add_argument("--name", default="", help="name of the new gold set (default: that in the file)")
        rename = actions.add_parser("rename", help="rename a gold set")
        rename.add_argument("name", metavar="NAME", help="name of the gold set")
        rename.add_argument("new_name", metavar="NEW", help="its new name")
        delete = actions.add_parser("delete", help="delete a gold set; the decisions of its run stay")
        delete.add_argument("name", metavar="NAME", help="name of the gold set")

    def handle(self, *_: Any, action: str, **options: Any) -> None:
        with command_errors(InvalidSettings, OSError):
            getattr(self, f"_{action}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        found = [described(one) for one in GoldSet.objects.order_by("-pk")]
        if options["json"]:
            self.stdout.write(json.dumps(found, ensure_ascii=False))
            return
        for one in found:
            self.stdout.write(f"{one['name']}: run {one['run']}, frozen {one['frozen_at']}")

    def _freeze(self, options: dict[str, Any]) -> None:
        read = read_scope(find_run(options["run"]), {name: options[name] for name in SCOPE_FILTERS})
        frozen = gold_sets.freeze(scope=require_valid(read), name=options["name"], actor=None)
        self.stdout.write("\n".join(frozen.sentences))

    def _measure(self, options: dict[str, Any]) -> None:
        read = read_record_scope(find_run(options["run"]), {name: options[name] for name in GOLD_FILTERS})
        found = measure(_find(options["name"]), require_valid(read))
        if options["json"]:
            self.stdout.write(json.dumps(found.as_json(), ensure_ascii=False, allow_nan=False))
            return
        print_parts(gold_parts(found))

    def _export(self, options: dict[str, Any]) -> None:
        gold_set = _find(options["name"])
        write_with_retry(options["output"], lambda: gold_file.export_gold_set(gold_set=gold_set, actor=None))

    def _import(self, options: dict[str, Any]) -> None:
        with open_input(options["file"]) as file:
            made = gold_file.import_gold_set(blocks=read_blocks(file), actor=None, name=options["name"])
        self.stdout.write(f"Imported {made.name}: {made.ratings.count():,} ratings.")

    def _rename(self, options: dict[str, Any]) -> None:
        gold_sets.rename(gold_set_id=_find(options["name"]).pk, name=options["new_name"], actor=None)

    def _delete(self, options: dict[str, Any]) -> None:
        gold_sets.delete(gold_set_id=_find(options["name"]).pk, actor=None)


def _find(name: str) -> GoldSet:
    found = GoldSet.objects.filter(name=clean_name(name)).first()
    if found is None:
        raise not_found("gold set", name, GoldSet.objects.order_by("-pk").values_list("name", flat=True))
    return found
