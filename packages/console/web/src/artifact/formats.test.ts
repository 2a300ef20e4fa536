import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ansiLines, hasAnsi } from './ansi.ts';
import { kindOf } from './artifact-kind.ts';
import { parseTable } from './csv.ts';
import { jsonLines } from './json-lines.ts';

const esc = '\u001b';

describe('the kind of an artifact', () => {
  for (const [mediaType, name, kind] of [
    ['image/png', 'a.png', 'image'],
    ['IMAGE/JPEG; charset=x', 'a', 'image'],
    ['image/svg+xml', 'a.svg', 'text'],
    ['image/x-icon', 'a.ico', 'none'],
    ['text/html', 'a.html', 'text'],
    ['application/xhtml+xml', 'a', 'text'],
    ['text/markdown', 'a', 'markdown'],
    ['text/plain', 'README.md', 'markdown'],
    ['text/x-diff', 'a', 'diff'],
    ['text/plain; charset=utf-8', 'fix.patch', 'diff'],
    ['text/plain', 'build.log', 'log'],
    ['application/json', 'a', 'json'],
    ['application/vnd.api+json', 'a', 'json'],
    ['text/csv', 'a', 'table'],
    ['text/plain', 'notes', 'text'],
    ['application/pdf', 'a.pdf', 'none'],
    ['application/octet-stream', 'picture.png', 'none'],
    ['text/html', 'picture.png', 'text'],
    [null, 'a.md', 'none'],
  ] as const)
    test(`${mediaType} named ${name} is shown as ${kind}`, () =>
      assert.equal(kindOf({ mediaType, name }), kind));
});

describe('the colours of a log', () => {
  test('are classes of pieces, and end with a reset', () => {
    assert.deepEqual(ansiLines(`a${esc}[1;31mred${esc}[0m b\n${esc}[92mgreen`, 10), [
      [
        { text: 'a', style: [] },
        { text: 'red', style: ['fg1', 'bold'] },
        { text: ' b', style: [] },
      ],
      [{ text: 'green', style: ['fg2'] }],
    ]);
  });

  test('last over lines; 256 colours keep the basic ones, and true colours have none', () => {
    const styles = (text: string) => ansiLines(text, 10).flatMap((line) => line.map(({ style }) => style));
    assert.deepEqual(styles(`${esc}[44mone\ntwo`), [['bg4'], ['bg4']]);
    assert.deepEqual(styles(`${esc}[38;5;3mx`), [['fg3']]);
    assert.deepEqual(styles(`${esc}[38;5;200mx`), [[]]);
    assert.deepEqual(styles(`${esc}[38;2;1;31;1mx`), [[]]);
  });

  test('other sequences, links and control characters are left out; markup stays text', () => {
    const hostile = `${esc}[2J${esc}[10;10H${esc}]8;;javascript:alert(1)${esc}\\<img src=x>${esc}]8;;${esc}\\${esc}]0;title\u0007\u0000\u0008!`;
    assert.deepEqual(
      ansiLines(hostile, 10)
        .flatMap((line) => line.map(({ text }) => text))
        .join(''),
      '<img src=x>!',
    );
  });

  test('a carriage return overwrites the line', () => {
    assert.deepEqual(
      ansiLines('10 %\r55 %\r100 %\r\nnext', 10).map((line) => line.map(({ text }) => text).join('')),
      ['100 %', 'next'],
    );
    assert.deepEqual(
      ['\r', '\r\r', '\rx', 'x\r\ry\r\r', ''].map((line) => ansiLines(line, 1)[0]?.[0]?.text),
      [undefined, undefined, 'x', 'y', undefined],
    );
    // Must be linear: a quadratic search of this line would take minutes.
    assert.equal(ansiLines(`${'\r'.repeat(999_999)}x`, 1)[0]?.[0]?.text, 'x');
  });

  test('lines, their length and their pieces are bounded', () => {
    assert.equal(ansiLines('x\n'.repeat(50_000), 500).length, 500);
    const [long] = ansiLines('y'.repeat(1_000_000), 1);
    assert.ok((long?.[0]?.text.length ?? 0) <= 4_000);
    const [many] = ansiLines(`${esc}[31mz`.repeat(10_000), 1);
    assert.deepEqual([many?.length, many?.at(-1)?.text], [201, ' …']);
    const [full] = ansiLines(`${esc}[31mz`.repeat(200), 1);
    assert.deepEqual([full?.length, full?.at(-1)?.text], [200, 'z']);
    // An unterminated sequence must not cause repeated searches of the whole text.
    ansiLines(`${esc}]`.repeat(2_000), 1);
  });

  test('are detected', () => {
    assert.ok(hasAnsi(`${esc}[31m`));
    assert.ok(!hasAnsi('[31m'));
  });
});

describe('JSON', () => {
  test('is indented', () => {
    for (const value of [
      { a: [1, -2.5e-7, { b: {}, c: [], d: [{}] }], 'x,y:{': 'q"\\[', n: null, t: true },
      [],
      'text',
      7,
    ])
      for (const text of [JSON.stringify(value), JSON.stringify(value, null, '\t\r\n')])
        assert.equal(jsonLines(text).join('\n'), JSON.stringify(value, null, 2));
    assert.deepEqual(jsonLines('["\\u00e4\\u0000\\ud800"]'), ['[', '  "ä\\u0000\\ud800"', ']']);
  });

  test('keeps duplicate members and large numbers', () => {
    assert.deepEqual(jsonLines('{"amount":1,"amount":900,"id":9223372036854775807,"n":1.0}'), [
      '{',
      '  "amount": 1,',
      '  "amount": 900,',
      '  "id": 9223372036854775807,',
      '  "n": 1.0',
      '}',
    ]);
  });

  test('is shown as it is if it is invalid or too deeply nested', () => {
    assert.deepEqual(jsonLines('{"a":\n1'), ['{"a":', '1']);
    const deep = `${'['.repeat(2_000)}${'1,'.repeat(60_000)}1${']'.repeat(2_000)}`;
    assert.deepEqual(jsonLines(deep), [deep]);
    const deepest = `${'['.repeat(500_000)}${']'.repeat(500_000)}`;
    assert.deepEqual(jsonLines(deepest), [deepest]);
  });
});

describe('a table', () => {
  test('has quoted cells with separators, quotes and line breaks', () => {
    assert.deepEqual(parseTable('a,b\r\n"1,5","so ""x""\nnow"\r\n', 10), {
      head: ['a', 'b'],
      rows: [['1,5', 'so "x"\nnow']],
      isCut: false,
    });
  });

  test('may be separated by semicolons or tabs', () => {
    assert.deepEqual(parseTable('a;b\n1;2', 10).rows, [['1', '2']]);
    assert.deepEqual(parseTable('a\tb\n1\t2', 10).rows, [['1', '2']]);
  });

  test('is cut after the given rows; columns and cells are bounded', () => {
    const { rows, isCut } = parseTable(`a\n${'1\n'.repeat(100)}`, 20);
    assert.deepEqual([rows.length, isCut], [20, true]);
    assert.equal(parseTable(`a\n${'1\n'.repeat(20)}`, 20).isCut, false);
    const { head } = parseTable('x,'.repeat(1_000), 20);
    assert.deepEqual([head.length, head.at(-2), head.at(-1)], [51, 'x', '…']);
    assert.equal(parseTable('x,'.repeat(49), 20).head.at(-1), '');
    assert.ok((parseTable('x'.repeat(10_000), 20).head[0]?.length ?? 0) < 600);
  });
});
