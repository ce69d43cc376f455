from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from rag_pipeline.text.tokenizer import ModelTokenizer, WordTokenizer, count_many


def test_counts_of_a_batch_equal_those_of_each_text(tmp_path: Path) -> None:
    plain = Tokenizer(WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    plain.pre_tokenizer = Whitespace()
    plain.save(str(tmp_path / "tokenizer.json"))
    texts = ["a b, c", "", "a"]
    for tokenizer in (ModelTokenizer(tmp_path / "tokenizer.json"), WordTokenizer()):
        assert count_many(tokenizer, texts) == [tokenizer.count(t) for t in texts] == [4, 0, 1]
        assert count_many(tokenizer, []) == []
