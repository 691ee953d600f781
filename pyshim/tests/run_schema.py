"""The schema of what memshim run --json writes."""

import json

from memshim.case.record import SCHEMA_FILE

SCHEMA = json.loads(SCHEMA_FILE.with_name("run.schema.json").read_text(encoding="utf-8"))


def wrong(found):
    """What is not as the schema has it: a list of texts."""
    import jsonschema

    form = {"$ref": "#/$defs/" + ("ranks_run" if "ranks" in found else "run")}
    schema = {k: v for k, v in SCHEMA.items() if k != "oneOf"} | form
    return [f"{list(e.absolute_path)}: {e.message}" for e in jsonschema.Draft202012Validator(schema).iter_errors(found)]
