"""Questions that point at a text the reader does not have, and questions that are not Russian; all sentences are ours."""

import json
import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tendril_assets.queries.questions_russian import not_russian, points_at_passage

POINTING = """
Какая сумма указана в этом фрагменте?
Что понимается под резервом согласно данному положению?
Какой срок установлен настоящим Положением?
Кто подписывает отчет в соответствии с настоящим Указанием Банка России?
Какие требования перечислены в тексте?
О чём говорится в тексте?
Какие документы указаны в приведенном выше отрывке?
Согласно тексту, кто ведет реестр?
Исходя из текста, какие сроки предусмотрены?
Какие условия указаны выше?
Какие из вышеперечисленных операций подлежат учету?
Какие нормативы описаны в данном пункте?
Что регулирует этот нормативный акт?
Какие организации обязаны соблюдать данные рекомендации?
Что предусматривает указанный пункт?
Какие сведения содержит фрагмент?
Какую ответственность несет банк по данному фрагменту?
Какой показатель рассчитывается в указанном абзаце?
Кому адресованы эти методические рекомендации?
Какой порядок описывает автор документа?
Какой номер формы приведен в документе?
На кого распространяются положения настоящей Инструкции?
Какие сроки предусмотрены рассматриваемым разделом?
Каков порядок вступления в силу этого Указания?
Что указано в таблице данного приложения?
Какие данные приведены во фрагменте?
Какие действия предусмотрены нижеследующими правилами?
Какие счета упоминаются в отрывке?
Для чего нужны упомянутые в тексте выше формы?
КАКИЕ СРОКИ УСТАНОВЛЕНЫ НАСТОЯЩИМИ ПРАВИЛАМИ?
""".strip().splitlines()

PLAIN = """
Какие данные документа, удостоверяющего личность, указываются в заявлении?
По данным раздела 8 отчета как рассчитывается показатель долговой нагрузки?
Можно ли обменять банкноту, состоящую из двух фрагментов?
Из скольких фрагментов может состоять банкнота, принимаемая к обмену?
Какие сведения должны содержаться в документе, подтверждающем оплату?
Как определить настоящую стоимость будущих платежей?
В настоящее время какие лимиты действуют для микрофинансовых организаций?
Какое положение счета учитывается при расчете остатка?
Вправе ли банк применять пункт 3.9 Положения № 590-П и когда указанный пункт не действует?
Распространяются ли требования настоящего Указания № 6406-У на факторинговые компании?
Как этот заемщик классифицируется по качеству обслуживания долга?
Какое финансовое положение заемщика считается средним?
Кто принимает решение о допуске эмиссионных ценных бумаг?
Какие указания клиента исполняет депозитарий?
Кто утверждает правила внутреннего контроля?
В какой срок некредитная организация направляет данные об операциях?
В каком разделе отчета отражаются просроченные проценты?
Какие документы представляет заявитель для регистрации?
Какой текст должен содержать товарный знак?
Включается ли данный договор в расчет?
Кто хранит представленные заявителем документы?
Как рассчитать данные показатели для группы?
В контексте каких операций применяется пониженный коэффициент?
Какие приложения прилагаются к заявлению?
Какова ответственность за нарушение норм Положения?
""".strip().splitlines()


@pytest.mark.parametrize("question", POINTING)
def test_a_question_that_points_at_its_passage_is_found_with_the_words(question: str) -> None:
    found = points_at_passage(question)
    assert found
    assert found.replace("ё", "е") in question.replace("ё", "е")


@pytest.mark.parametrize("question", PLAIN)
def test_everyday_phrases_and_acts_by_their_number_are_left_alone(question: str) -> None:
    assert points_at_passage(question) is None


@pytest.mark.parametrize("question", POINTING[:6])
def test_neither_spelling_nor_line_breaks_hide_it(question: str) -> None:
    broken = unicodedata.normalize("NFD", question.replace(" ", "\n  ").upper())
    assert points_at_passage(broken)


@pytest.mark.parametrize(
    ("text", "share", "evidence"),
    [
        ("What is a reserve?", 1.0, "What is a reserve"),
        ("Что значит compliance officer report?", 23 / 32, "compliance officer report"),
        ("Как рахувати резерв і ліцензію?", 0.0, "і"),
        ("Що таке ґрунт?", 0.0, "ґ"),
        ("Як працює ваш їжак?", 0.0, "є ї"),
        ("Што гэта за ўстанова?", 0.0, "ў"),
        ("Шта је резерва?", 0.0, "ј"),
        ("Что такое 准备金?", 0.0, "准 备 金"),
        ("Кредитovanie банка", 6 / 17, "Кредитovanie"),
        ("Что тaкое резерв?", 1 / 14, "тaкое"),  # a Latin a
        ("123?", 0.0, ""),
        ("", 0.0, ""),
    ],
)
def test_what_is_not_russian_is_told_with_share_and_evidence(text: str, share: float, evidence: str) -> None:
    assert not_russian(text) == (pytest.approx(share), evidence)


@pytest.mark.parametrize(
    "text",
    [
        "Что такое PDF?",
        "Какой код SWIFTом передается?",
        "Как рассчитать α и σ в формуле?",
        "В каком случае IT-компания раскрывает e-mail?",
        "Как считать бу́дущие платежи и ѐмкость?",
        "Что делать с банкнотой, подъём, ёлка, съезд?",
        unicodedata.normalize("NFD", "Какой счёт и чей?"),
        "Как заполнить форму XBRL, XML, ISIN?",
    ],
)
def test_abbreviations_formulas_and_stress_marks_are_russian(text: str) -> None:
    assert not_russian(text) is None


@given(st.text(max_size=120))
def test_any_text_gets_an_answer(text: str) -> None:
    found = not_russian(text)
    assert found is None or 0.0 <= found[0] <= 1.0
    assert points_at_passage(text) is None or points_at_passage(text)


@given(
    st.text(alphabet="абвгдеёжзийклмнопрстуфхцчшщъыьэюя АБЯ.,?1", min_size=1).filter(
        lambda t: any(c.isalpha() for c in t)
    )
)
def test_russian_letters_alone_are_russian(text: str) -> None:
    assert not_russian(text) is None
    assert not_russian(text + " " + "w" * 300) is not None


@pytest.mark.skipif("TENDRIL_TRIAL_DATA" not in os.environ, reason="TENDRIL_TRIAL_DATA names no trial data")
def test_real_questions_of_people_are_let_through() -> None:
    """People who asked a regulator had no passage before them: of 108 questions one speaks of an example "given above"."""
    root = Path(os.environ["TENDRIL_TRIAL_DATA"])
    pairs = map(json.loads, (root / "cbr_pairs" / "pairs.jsonl").read_text("utf-8").splitlines())
    live = sorted({pair["query"] for pair in pairs})
    manual = map(json.loads, (root / "cbr_excerpts" / "manual.jsonl").read_text("utf-8").splitlines())
    assert len(live) == 108
    assert [found for question in live if (found := points_at_passage(question))] == ["приведенный выше"]
    assert not [question for question in live if not_russian(question)]
    assert not [row["text"] for row in manual if not_russian(row["text"]) or points_at_passage(row["text"])]
