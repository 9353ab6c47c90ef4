"""Picks the sentences of `sentencode demo`, python/sentencode/data/demo_sentences.txt, from well-known books.

usage: python tools/make_demo_sentences.py books.train.txt.xz books.valid.txt.xz

The files hold one sentence a line and an empty line between books. The same files give the same sentences.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

import sentencode as se

OUT = Path(__file__).parents[1] / "python" / "sentencode" / "data" / "demo_sentences.txt"

# Books of authors who died before 1950, by words that stand in their first sentences.
WORKS = {
    "Christmas won't be Christmas without any presents": "Little Women, Louisa May Alcott",
    "About thirty years ago Miss Maria Ward": "Mansfield Park, Jane Austen",
    "It is a truth universally acknowledged": "Pride and Prejudice, Jane Austen",
    "The family of Dashwood had long been settled": "Sense and Sensibility, Jane Austen",
    "No one who had ever seen Catherine Morland": "Northanger Abbey, Jane Austen",
    "Mme. Vauquer (nee de Conflans)": "Father Goriot, Honore de Balzac",
    "I first saw the light in the city of Boston": "Looking Backward, Edward Bellamy",
    "There was no possibility of taking a walk": "Jane Eyre, Charlotte Bronte",
    "I have just returned from a visit to my landlord": "Wuthering Heights, Emily Bronte",
    "Once on a dark winter's day": "A Little Princess, Frances Hodgson Burnett",
    "Alice was beginning to get very tired": "Alice's Adventures in Wonderland, Lewis Carroll",
    "the white kitten had had nothing to do with it": "Through the Looking-Glass, Lewis Carroll",
    "Mr Verloc, going out in the morning": "The Secret Agent, Joseph Conrad",
    "Captain MacWhirr, of the steamer": "Typhoon, Joseph Conrad",
    "The cold passed reluctantly from the earth": "The Red Badge of Courage, Stephen Crane",
    "When on board H.M.S. 'Beagle,'": "On the Origin of Species, Charles Darwin",
    "Marley was dead": "A Christmas Carol, Charles Dickens",
    "It was the best of times": "A Tale of Two Cities, Charles Dickens",
    "Michaelmas term lately over": "Bleak House, Charles Dickens",
    "Whether I shall turn out to be the hero": "David Copperfield, Charles Dickens",
    "Now, what I want is, Facts": "Hard Times, Charles Dickens",
    "I was born in Tuckahoe": "Narrative of the Life of Frederick Douglass",
    "the seventy odd cases in which I have": "The Speckled Band, Arthur Conan Doyle",
    "Mr. Sherlock Holmes, one day in the autumn of last year": "The Red-Headed League, Arthur Conan Doyle",
    "When Caroline Meeber boarded": "Sister Carrie, Theodore Dreiser",
    "the look-out at Notre-Dame de la Garde": "The Count of Monte Cristo, Alexandre Dumas",
    "the market town of Meung": "The Three Musketeers, Alexandre Dumas",
    "the broadening Floss hurries on": "The Mill on the Floss, George Eliot",
    "The Mole had been working very hard": "The Wind in the Willows, Kenneth Grahame",
    "When Farmer Oak smiled": "Far from the Madding Crowd, Thomas Hardy",
    "homeward from Shaston to the village of Marlott": "Tess of the d'Urbervilles, Thomas Hardy",
    "Ursus and Homo were fast friends": "The Man Who Laughs, Victor Hugo",
    "M. Charles-François-Bienvenu Myriel": "Les Miserables, Victor Hugo",
    "It was sheep-shearing time": "Ramona, Helen Hunt Jackson",
    "There was once a little princess": "The Princess and the Goblin, George MacDonald",
    "Call me Ishmael": "Moby-Dick, Herman Melville",
    "They were not railway children": "The Railway Children, Edith Nesbit",
    "The first place that I can well remember": "Black Beauty, Anna Sewell",
    "The annual labour of every nation": "The Wealth of Nations, Adam Smith",
    "Mr. Utterson the lawyer": "Dr Jekyll and Mr Hyde, Robert Louis Stevenson",
    "JONATHAN HARKER'S JOURNAL": "Dracula, Bram Stoker",
    "in its teens, and on one sunshiny morning in June": "Vanity Fair, William Makepeace Thackeray",
    "Happy families are all alike": "Anna Karenina, Leo Tolstoy",
    "You don't know about me without": "Adventures of Huckleberry Finn, Mark Twain",
    "This book is a record of a pleasure trip": "The Innocents Abroad, Mark Twain",
    "The Mississippi is well worth reading about": "Life on the Mississippi, Mark Twain",
    "The year 1866 was signalised": "Twenty Thousand Leagues under the Sea, Jules Verne",
    "In a castle of Westphalia": "Candide, Voltaire",
    "who shall dwell in these worlds": "The War of the Worlds, H. G. Wells",
    "Selden paused in surprise": "The House of Mirth, Edith Wharton",
    "The artist is the creator of beautiful things": "The Picture of Dorian Gray, Oscar Wilde",
}

# First words that lean on the sentence before.
LEANING = "And|But|For|Nor|Or|So|Then|Thus|This|That|These|Those|Which|Such|He|She|They|His|Her|Their|Its"


def books(paths: list[Path]) -> Iterator[list[str]]:
    for path in paths:
        yield from se.Corpus(path).documents()


def opening_of(book: list[str]) -> str | None:
    beginning = " ".join(book[:8])
    return next((words for words in WORKS if words in beginning), None)


def stands_alone(sentence: str) -> bool:
    """Whether this is a whole sentence, of narration, that can be understood without those around it."""
    words = sentence.split()
    return (
        6 <= len(words) <= 20
        and re.fullmatch(r"[A-Z][A-Za-z ,;'-]+[.!?]", sentence) is not None
        and not re.match(rf"({LEANING})\b", sentence)
        and sum(word[0].isupper() for word in words) <= 3
        and sum(len(word) > 5 for word in words) >= 3
        and not re.search(r"(^|\s)'|'(\s|[.,;!?]|$)|--|\b[A-Z]{2}", sentence)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--per-book", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    chosen: dict[str, list[str]] = {}
    for book in books(options.files):
        if (opening := opening_of(book)) is None or opening in chosen:
            continue
        fitting = list(dict.fromkeys(filter(stands_alone, book)))
        generator = random.Random(
            f"{options.seed} {opening}"
        )  # one book's choice leaves the others as they are
        picked = set(generator.sample(range(len(fitting)), min(options.per_book, len(fitting))))
        famous = [line for line in book[:8] if opening in line and line[-1] in ".!?" and len(line) <= 200]
        chosen[opening] = famous + [sentence for i, sentence in enumerate(fitting) if i in picked]
    if missing := [work for opening, work in WORKS.items() if opening not in chosen]:
        parser.error(f"not in these files: {', '.join(missing)}")

    lines = dict.fromkeys(sentence for opening in WORKS for sentence in chosen[opening])
    options.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(lines)} sentences of {len(chosen)} books, {options.out.stat().st_size} bytes: {options.out}")


if __name__ == "__main__":
    main()
