"""Which families wrote training and held-out questions, by what is declared and what the names tell."""

import pytest

from tendril_assets.queries.families import Writer, misnamed, shared_families, told_families


@pytest.mark.parametrize(
    ("model", "families"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", {"qwen"}),
        ("qwen/qwen3-30b-a3b", {"qwen"}),
        ("RefalMachine/RuadaptQwen2.5-32B-instruct", {"qwen"}),
        ("Qwen/QwQ-32B", {"qwen"}),
        ("t-tech/T-pro-it-2.0", {"qwen"}),
        ("NiGuLa/Vikhr-Nemo-12B-Instruct-R-21-09-24-awq-4bit", {"mistral"}),
        ("TheBloke/Mistral-7B-Instruct-v0.2-AWQ", {"mistral"}),
        ("mistralai/mixtral-8x7b-instruct", {"mistral"}),
        ("IlyaGusev/saiga_nemo_12b", {"mistral"}),
        ("IlyaGusev/saiga_llama3_8b", {"llama"}),
        ("meta-llama/llama-3.1-8b-instruct", {"llama"}),
        ("google/gemma-2-9b-it", {"gemma"}),
        ("openai/gpt-4o-mini", {"gpt"}),
        ("openai/o3", {"gpt"}),
        ("deepseek/deepseek-r1-distill-qwen-7b", {"deepseek", "qwen"}),
        ("THUDM/chatglm3-6b", {"glm"}),
        ("microsoft/phi-4", {"phi"}),
        ("openai/gpt-oss-20b", {"gpt"}),
        ("openai/chatgpt-4o-latest", {"gpt"}),
        ("yandex/YandexGPT-5-Lite-8B-instruct", {"yandexgpt"}),
        ("ai-forever/rugpt3large_based_on_gpt2", set()),
        ("sandbox/asker-a", set()),
        ("dolphin-venemous", set()),
        ("morphing-1", set()),
    ],
)
def test_names_tell_families(model: str, families: set[str]) -> None:
    assert told_families(model) == families


def writers(*rows: tuple[str, bool, str, str]) -> list[Writer]:
    return [Writer(*row) for row in rows]


def test_the_published_generators_differ() -> None:
    assert not shared_families(
        writers(
            ("train", True, "qwen", "Qwen/Qwen2.5-7B-Instruct-AWQ"),
            ("unseen", False, "mistral", "NiGuLa/Vikhr-Nemo-12B-Instruct-R-21-09-24-awq-4bit"),
        )
    )


@pytest.mark.parametrize(
    ("family", "model"),
    [
        ("qwen", "x/one"),  # declared alike
        ("QWEN", "x/one"),  # in other letters
        ("Qwen2.5", "x/one"),  # by a name that tells it
        ("other", "Qwen/Qwen2.5-14B"),  # told by the model's name
        ("other", "deepseek/deepseek-r1-distill-qwen-7b"),  # told beside another one
    ],
)
def test_a_shared_family_is_found_however_it_is_told(family: str, model: str) -> None:
    found = shared_families(writers(("train", True, "qwen", "Qwen/Qwen2.5-7B"), ("unseen", False, family, model)))
    assert [(one.family, one.train, one.held_out) for one in found] == [("qwen", "train", "unseen")]


def test_one_model_of_no_known_family_is_itself() -> None:
    found = shared_families(writers(("train", True, "a", "house/Model"), ("unseen", False, "b", "house/model")))
    assert [one.family for one in found] == ["house/model"]
    assert not shared_families(writers(("train", True, "a", "house/one"), ("dev", True, "a", "house/one")))


def test_a_name_that_tells_another_family_than_declared_is_told() -> None:
    assert misnamed(writers(("unseen", False, "mistral", "Qwen/Qwen2.5-14B"))) == [
        "unseen: Qwen/Qwen2.5-14B is declared mistral, its name tells qwen"
    ]
    assert not misnamed(
        writers(
            ("a", True, "mistral", "NiGuLa/Vikhr-Nemo-12B"),
            ("b", True, "sandbox_a", "sandbox/asker-a"),
            ("c", True, "qwen", "deepseek/deepseek-r1-distill-qwen-7b"),
            ("d", True, "Mistral-Nemo", "NiGuLa/Vikhr-Nemo-12B"),
        )
    )
