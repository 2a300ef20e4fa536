import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import { endOfAddress } from './links.ts';
import { mentionAt, mentionOf, mentionQueryAt } from './mention-text.ts';
import type { MarkdownNode } from './node.ts';
import { charactersMax, nestingMax, nodesMax, parseMarkdown } from './parse-markdown.ts';

/** All of a parsed text that a person can read. */
function readable(nodes: readonly MarkdownNode[]): string {
  return nodes
    .map((node) => {
      if (typeof node === 'string') return node;
      if ('children' in node) {
        const shown = node.type === 'link' ? ` ${node.title} ${node.url.href} ` : ' ';
        return readable(node.children) + shown;
      }
      if (node.type === 'code_block') return ` ${node.info} ${node.text} `;
      if (node.type === 'code') return node.text;
      if (node.type === 'mention' || node.type === 'commit') return node.name;
      return node.type === 'task' ? node.ref : ' ';
    })
    .join('');
}

function measure(nodes: readonly MarkdownNode[], depth = 1): { depth: number; count: number } {
  const inner = nodes.map((node) =>
    typeof node === 'string' || !('children' in node)
      ? { depth, count: 0 }
      : measure(node.children, depth + 1),
  );
  return {
    depth: Math.max(depth, ...inner.map((one) => one.depth)),
    count: nodes.length + inner.reduce((sum, one) => sum + one.count, 0),
  };
}

const repeated = (text: string) => text.repeat(Math.floor(charactersMax / text.length));
const numbered = (line: (n: number) => string) => {
  let text = '';
  for (let n = 0; text.length < charactersMax - 20; n += 1) text += line(n);
  return text.slice(0, charactersMax);
};

describe('hostile texts of the maximum length', () => {
  for (const [name, text] of Object.entries({
    brackets: repeated('['),
    closing: repeated(']'),
    stars: repeated('*'),
    'stars and letters': repeated('*a '),
    'opened emphasis': repeated('*a_ '),
    'both kinds of emphasis': repeated('*_'),
    'long runs of stars': repeated('***a**a '),
    quotes: repeated('>'),
    'quotes of lists': repeated('> - '),
    'one backtick each': repeated('`a'),
    backticks: repeated('`'),
    'runs of backticks': numbered((n) => `${'`'.repeat((n % 300) + 1)} `),
    'nested items': numbered((n) => `${' '.repeat(Math.min(n, 200) * 2)}- a\n`),
    'items on one line': repeated('- '),
    'numbers on one line': repeated('1. '),
    'empty rows of a table': `|a|b|\n|-|-|\n${'|\n'.repeat(4900)}`,
    'a wide table': `${'|a'.repeat(6000)}|\n${'|-'.repeat(6000)}|\n${'|\n'.repeat(4000)}`,
    'many tables': '|a|\n|-|\n\n'.repeat(1600),
    'opened links': repeated('[a](b'),
    'opened titles': repeated('[a](https://a.example "'),
    'empty links': repeated('[]()'),
    'nested images': repeated('![['),
    references: repeated('[a][b'),
    definitions: numbered((n) => `[a${n}]: https://a.example\n`),
    'unclosed definitions': '[a\n'.repeat(4900),
    'tags of HTML': repeated('<a '),
    comments: repeated('<!--'),
    entities: repeated('&#'),
    deleted: repeated('~~a'),
    'opened addresses': repeated('<http:'),
    addresses: repeated('https://a.example/ '),
    'an address of brackets': `https://a.example/${repeated(')')}`.slice(0, charactersMax),
    'an address of stars': `https://a.example/${repeated('*')}`.slice(0, charactersMax),
    'mail addresses': repeated('mailto:'),
    'opened mentions': repeated('@['),
    'names of mentions': repeated(`@[${'a'.repeat(150)}`),
    digits: repeated('0123456'),
    'hexadecimal digits': repeated('a1'),
    'ids of tasks': repeated('TASK-'),
    spaces: `${repeated(' ')}`.slice(1) + 'a',
    lines: 'a\n'.repeat(4900),
    fences: '```\n'.repeat(4900),
    backslashes: repeated('\\'),
    pipes: repeated('|'),
    surrogates: repeated('\ud83d'),
  }))
    test(`${name} are parsed within the bounds`, () => {
      assert.ok(text.length <= charactersMax);
      const sinceMs = performance.now();
      const nodes = parseMarkdown(text);
      assertTookLess(sinceMs, 3000, name);
      if (nodes === undefined) return;
      const { depth, count } = measure(nodes);
      assert.ok(depth <= nestingMax, `${depth} levels`);
      assert.ok(count <= nodesMax * 3, `${count} nodes`);
    });
});

describe('every word of a text', () => {
  const word = fc.constantFrom(...Array.from({ length: 40 }, (_, n) => `w${n}w`));
  const piece = fc
    .tuple(
      fc.constantFrom(
        (a: string, b: string) => `${a} ${b}`,
        (a: string, b: string) => `**${a}** _${b}_`,
        (a: string, b: string) => `[${a}](https://a.example/${b})`,
        (a: string, b: string) => `[${a}](https://a.example "${b}")`,
        (a: string, b: string) => `[${a}](javascript:${b})`,
        (a: string, b: string) => `![${a}](https://a.example/x '${b}')`,
        (a: string, b: string) => `![${a}][${b}]`,
        (a: string, b: string) => `[${a}]: https://a.example/${b}`,
        (a: string, b: string) => `[${a}]: <https://a.example>\n"${b}"`,
        (a: string) => `[${a}]`,
        (a: string, b: string) => `\`\`\`${a}\n${b}\n\`\`\``,
        (a: string, b: string) => `~~~ ${a} ${b}`,
        (a: string, b: string) => `| ${a} | ${b} |\n|---|---|\n| ${b} | ${a} |`,
        (a: string, b: string) => `| ${a} |\n|---|\n| x | ${b} |`,
        (a: string, b: string) => `| ${a} |\n|---|---|\n${b}`,
        (a: string, b: string) => `# ${a} # ${b} #`,
        (a: string, b: string) => `${a}\n=== ${b}\n===`,
        (a: string, b: string) => `<!-- ${a} --><b title="${b}">`,
        (a: string, b: string) => `> ${a}\n${b}`,
        (a: string, b: string) => `- [ ] ${a}\n  - [x](${b})`,
        (a: string, b: string) => `1. ${a}\n\n       ${b}`,
        (a: string, b: string) => `\\${a}\\\n&${b};`,
        (a: string, b: string) => `<https://${a}.example/${b}>`,
        (a: string, b: string) => `@[${a}](0190b2c4-5a6e-7000-8000-0000000000ad) @[${b}](x)`,
        (a: string, b: string) => `~~${a}~ ~${b}~~`,
        (a: string, b: string) => `\`${a} \`\`${b}`,
        (a: string, b: string) => `\t${a}\n${b}`,
      ),
      word,
      word,
    )
    .map(([form, a, b]) => form(a, b));
  const text = fc
    .array(fc.tuple(piece, fc.constantFrom('\n\n', '\n', ' ', '\n> ', '\n  ', '\n- ', '|', '\n\n    ')), {
      minLength: 1,
      maxLength: 8,
    })
    .map((parts) => parts.map(([one, end]) => one + end).join(''));

  test('can be read by the person who is shown it', () => {
    fc.assert(
      fc.property(text, (written) => {
        const nodes = parseMarkdown(written);
        if (nodes === undefined) return;
        const shown = readable(nodes);
        for (const [one] of written.matchAll(/w\d+w/g))
          assert.ok(shown.includes(one), `${one} is missing in ${JSON.stringify(shown)}`);
      }),
      { numRuns: byDepth(500, 20_000) },
    );
  });
});

describe('the text of a mention', () => {
  const id = '0190b2c4-5a6e-7000-8000-0000000000ad';

  test('is read back from what is written, whatever the name', () => {
    for (const displayName of [
      'Ada',
      'Zoë [team] Ω',
      'a\nb',
      ']](https://evil.example)[',
      '',
      '👩‍💻'.repeat(80),
    ]) {
      const text = mentionOf({ displayName, id });
      const mention = mentionAt(text, 0);
      assert.deepEqual([mention?.id, mention?.length], [id, text.length], text);
    }
  });

  test('is searched for after an @ in front of the cursor', () => {
    for (const [text, words] of [
      ['@', ''],
      ['Hello @ad', 'ad'],
      ['(@Ada Lo', 'Ada Lo'],
      ['@Ada Love lace', 'Ada Love lace'],
      ['a@b', undefined],
      ['@ada wrote that it', undefined],
      ['@ada\n', undefined],
      ['no', undefined],
    ] as const)
      assert.equal(mentionQueryAt(text, text.length)?.words, words, text);
    assert.deepEqual(mentionQueryAt('see @ad later', 7), { start: 4, words: 'ad' });
  });
});

test('an address ends before punctuation and before a bracket that it does not open', () => {
  for (const [text, address] of [
    ['https://a.example/.', 'https://a.example/'],
    ['https://a.example/(b)', 'https://a.example/(b)'],
    ['https://a.example/(b)).', 'https://a.example/(b)'],
    ['https://a.example/?!"', 'https://a.example/'],
    ['https://a.example', 'https://a.example'],
  ] as const)
    assert.equal(text.slice(0, endOfAddress(text)), address);
});
