import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { findDeadBuiltLinks } from './built-links.ts';
import { siteContent } from './site-content.ts';

/** The content of a site that is built from these files. */
function contentOf(texts: Readonly<Record<string, string>>) {
  const all: Readonly<Record<string, string>> = {
    'README.md': '# Baton\n\nShares work. And more.\n',
    'docs/errors.md':
      '<!-- GENERATED -->\n# Errors\n\n| Code | Status |\n|---|---|\n| `stale_claim` | 409 |\n\n## Limits\n',
    'docs/decisions/README.md': '# Decisions\n\n## Core\n\n- [0001](0001-a.md) A\n',
    'docs/decisions/0001-a.md': '# 0001 A\n\nBecause.\n',
    ...texts,
  };
  return siteContent({ files: Object.keys(all), read: (file) => all[file] ?? assert.fail(file) });
}

const bodyOf = (text: string) => {
  const content = contentOf({
    'docs/reference/claims.md': `# Claims\n\n${text}`,
    'src/a.ts': '',
    'docs/b.png': '',
  });
  const page = String(content.get('pages/reference/claims.md'));
  return {
    content,
    page: page.slice(page.indexOf('---\n\n') + 5),
    markdown: content.get('public/reference/claims.md'),
  };
};

describe('a page of the site', () => {
  test('has its title and its first sentence as properties, and the rest as its text', () => {
    const content = contentOf({
      'docs/mcp.md': '# `MCP` "agents"\n\nThey speak **MCP**. They act.\n\n## Use\n',
    });
    assert.equal(
      content.get('pages/mcp.md'),
      '---\ntitle: "MCP \\"agents\\""\ndescription: "They speak MCP."\n---\n\nThey speak **MCP**. They act.\n\n## Use\n',
    );
  });

  for (const [what, link, page, markdown] of [
    ['another page', '[x](../errors.md)', '[x](/errors/)', '[x](/errors.md)'],
    ['a heading', '[x](../errors.md#limits)', '[x](/errors/#limits)', '[x](/errors.md#limits)'],
    ['the title of a page', '[x](../errors.md#errors)', '[x](/errors/)', '[x](/errors.md)'],
    ['a heading of its own', '[x](#fencing)', '[x](#fencing)', '[x](#fencing)'],
    ['the first page', '[x](../../README.md)', '[x](/)', '[x](/index.md)'],
    ['a folder with a page', '[x](../decisions)', '[x](/decisions/)', '[x](/decisions.md)'],
    [
      'a source, as plain text',
      '[x](../../src/a.ts)',
      '[x](/source/src/a.ts.txt)',
      '[x](/source/src/a.ts.txt)',
    ],
    ['an image', '![x](../b.png)', '![x](/docs/b.png)', '![x](/docs/b.png)'],
    [
      'another site',
      '[x](https://example.com/a.md)',
      '[x](https://example.com/a.md)',
      '[x](https://example.com/a.md)',
    ],
    ['a page by its file name', '[errors.md](../errors.md)', '[Errors](/errors/)', '[errors.md](/errors.md)'],
    [
      'a heading by a file name',
      '[errors.md](../errors.md#limits)',
      '[Limits](/errors/#limits)',
      '[errors.md](/errors.md#limits)',
    ],
    ['nothing, in code', '`[x](../errors.md)`', '`[x](../errors.md)`', '`[x](../errors.md)`'],
  ] as const)
    test(`leads to ${what}`, () => {
      const built = bodyOf(link);
      assert.equal(built.page, page);
      assert.equal(built.markdown, `# Claims\n\n${markdown}`);
    });

  test('includes the files that it links to', () => {
    const { content } = bodyOf('[x](../../src/a.ts) ![x](../b.png) [x](../../src)');
    assert.deepEqual(content.get('public/source/src/a.ts.txt'), { copyOf: 'src/a.ts' });
    assert.deepEqual(content.get('public/docs/b.png'), { copyOf: 'docs/b.png' });
    assert.equal(content.get('public/source/src.txt'), 'src/a.ts\n');
  });

  test('gives the names of a catalog more weight in searches', () => {
    const page = String(contentOf({}).get('pages/errors.md'));
    assert.match(page, /^\| <code data-pagefind-weight="10">stale_claim<\/code> \| 409 \|$/m);
  });

  test('without a title is rejected', () => {
    assert.throws(
      () => contentOf({ 'docs/mcp.md': 'Text\n' }),
      /^Error: docs\/mcp\.md has no title: begin it with/,
    );
  });
});

test('the index for language models has one line per page, with the decisions as optional', () => {
  const content = contentOf({});
  const index = String(content.get('public/llms.txt'));
  assert.ok(index.startsWith('# Baton\n\n> Shares work.\n'), index);
  assert.match(index, /## Start\n\n- \[Baton\]\(\/index\.md\): Shares work\.\n/);
  assert.match(index, /## Reference\n\n- \[Errors\]\(\/errors\.md\)\n/);
  assert.match(
    index,
    /## Optional\n\n- \[Decisions\]\(\/decisions\.md\)\n- \[0001 A\]\(\/decisions\/0001-a\.md\): Because\.\n$/,
  );
  const full = String(content.get('public/llms-full.txt'));
  assert.ok(full.includes('# Errors\n') && !full.includes('# 0001 A'));
});

describe('in a built site', () => {
  const problemsOf = (pages: Readonly<Record<string, string>>) => {
    const folder = mkdtempSync(join(tmpdir(), 'baton-built-site-'));
    try {
      for (const [path, html] of Object.entries(pages)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), html);
      }
      return findDeadBuiltLinks(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };
  const errors = { 'errors/index.html': '<h2 id="limits">Limits</h2>', 'errors.md': '' };

  test('links to pages, files, elements and other sites are valid', () => {
    const links = [
      '/errors/',
      '/errors/#limits',
      'errors/#limits',
      '/errors.md',
      '#own',
      'https://example.com/dead',
    ];
    const html = links.map((link) => `<a class="x" href="${link}">x</a>`).join('');
    assert.deepEqual(problemsOf({ ...errors, 'index.html': `${html}<p id="own"></p>` }), []);
  });

  test('links to missing pages, files and elements are found', () => {
    const html =
      '<a href="/dead/">x</a><a href="/errors/#dead">x</a><img alt="" src="dead.png"><a href="#dead">x</a>';
    assert.deepEqual(problemsOf({ ...errors, 'index.html': html }), [
      'index.html: /dead/ leads to no file',
      'index.html: /errors/#dead leads to no element of errors/index.html',
      'index.html: dead.png leads to no file',
      'index.html: #dead leads to no element of index.html',
    ]);
  });

  test('a site without pages is rejected', () => {
    assert.match(problemsOf({ 'a.txt': '' })[0] ?? '', /holds no pages$/);
  });
});
