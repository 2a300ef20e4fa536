import assert from 'node:assert/strict';
import { test } from 'node:test';
import { revealHidden } from './hidden-characters.ts';

test('every character that a reader can not see is written as its code', () => {
  const cases = {
    'a\u0000b\u001Bc\u009Bd': 'a⟨U+0000⟩b⟨U+001B⟩c⟨U+009B⟩d',
    'a\u202Eb\u2066c\u200Bd\uFEFFe\u00ADf': 'a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d⟨U+FEFF⟩e⟨U+00AD⟩f',
    'a\u2028b\u2029c': 'a⟨U+2028⟩b⟨U+2029⟩c',
    'fillers \u3164\u115F\u034F': 'fillers ⟨U+3164⟩⟨U+115F⟩⟨U+034F⟩',
    'tags \u{E0041} and selectors \u{E0100}\uFE01': 'tags ⟨U+E0041⟩ and selectors ⟨U+E0100⟩⟨U+FE01⟩',
    'line\nand\r\nand\ttab stay': 'line\nand\r\nand\ttab stay',
    'a carriage return\rdoes not': 'a carriage return⟨U+000D⟩does not',
  };
  for (const [text, shown] of Object.entries(cases)) assert.equal(revealHidden(text), shown);
});

test('joiners and selectors stay where scripts and emoji need them, one at a time', () => {
  for (const text of [
    'می\u200Cخواهم',
    'क्\u200Dष',
    '👨\u200D👩',
    '👩🏽\u200D🚀',
    '❤\uFE0F\u200D🔥',
    '1\uFE0F\u20E3',
  ])
    assert.equal(revealHidden(text), text);
  assert.equal(revealHidden('AC\u200DME'), 'AC⟨U+200D⟩ME');
  assert.equal(revealHidden('10\uFE0F'), '10⟨U+FE0F⟩');
  assert.equal(revealHidden('می\u200C\u200D\u200Cخ'), 'می⟨U+200C⟩⟨U+200D⟩⟨U+200C⟩خ');
  assert.equal(revealHidden('❤\uFE0F\uFE0F'), '❤\uFE0F⟨U+FE0F⟩');
  assert.equal(revealHidden('می\u200Cخواهم', { all: true }), 'می⟨U+200C⟩خواهم');
});
