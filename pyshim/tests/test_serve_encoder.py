"""python -m memshim serve of models that read images: what an engine profiles their encoder by is not made up."""

import json

import pytest

from memshim.serving import model_folder

IMAGES = {"model_type": "llava", "vision_config": {"hidden_size": 64}}
PROCESSOR, TOKENIZER = "preprocessor_config.json", "tokenizer.json"


@pytest.mark.parametrize(
    "files, lacks",
    [
        ([], "no preprocessor_config.json and no tokenizer"),
        ([TOKENIZER], "no preprocessor_config.json"),
        ([PROCESSOR], "no tokenizer"),
    ],
)
def test_files_by_which_an_encoder_is_profiled_are_asked_for(files, lacks, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(IMAGES))
    for name in files:
        (tmp_path / name).write_text("{}")
    with pytest.raises(model_folder.Unclear) as e:
        model_folder.check_processor(tmp_path, {"image": 1, "video": 0})
    assert str(e.value) == (
        f"{tmp_path}: got {lacks}, want the files beside config.json: the engine profiles the encoder by them; "
        "--language-model-only leaves it out"
    )


@pytest.mark.parametrize(
    "config, files, limits",
    [
        (IMAGES, [PROCESSOR, TOKENIZER], {}),
        (IMAGES, ["processor_config.json", "tokenizer_config.json"], {}),
        (IMAGES, [], {"image": 0, "video": 0}),
        ({"model_type": "llama", "vision_config": None}, [], {}),
    ],
)
def test_nothing_is_asked_for_where_no_encoder_runs_or_its_files_are_there(config, files, limits, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(config))
    for name in files:
        (tmp_path / name).write_text("{}")
    model_folder.check_processor(tmp_path, limits)
