import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { Task } from '@baton/sdk';
import { approvalWith } from '../testing/approvals.ts';
import {
  exampleOf,
  find,
  itemOf,
  meId,
  open,
  pageOf,
  Refusal,
  see,
  seen,
  test,
  until,
} from '../testing/page.ts';
import { answersOf, graceId, taskWith } from '../testing/tasks.ts';

/** Opens the page of a task with this description, and returns the element that shows it. */
async function show(description: string, answers: Parameters<typeof open>[1] = {}): Promise<Element> {
  const task = taskWith({ description });
  await open(`/tasks/${task.publicId}`, { ...answers, answers: { ...answersOf(task), ...answers.answers } });
  const shown = await find('region', 'Description');
  // Until the parser has loaded, the text is shown without formatting.
  await until(() => within(shown) !== null || seen(shown).includes('Shown without formatting'));
  return find('region', 'Description');
}

const htmlOf = (element: Element | null) => (element?.innerHTML ?? '').replaceAll('\n', '');
const within = (element: Element) => element.querySelector('.markdown');
const linksIn = (element: Element) => [...element.querySelectorAll('a')];

describe('the Markdown of a text', () => {
  test('has paragraphs, line breaks, emphasis, code, quotes and rules', async () => {
    const shown = await show('One *two* **three** ~~four~~ `a < b`\nnext line\n\n> quoted\n\n***\n\nEnd');
    assert.equal(
      htmlOf(within(shown)),
      '<p>One <em>two</em> <strong>three</strong> <del>four</del> <code>a &lt; b</code><br>next line</p>' +
        '<blockquote><p>quoted</p></blockquote><hr><p>End</p>',
    );
  });

  test('has headings below those of the page', async () => {
    const shown = await show('# One\n## Two\n### Three\n###### Six\n\nSetext\n===');
    assert.equal(htmlOf(within(shown)), '<h3>One</h3><h4>Two</h4><h5>Three</h5><h6>Six</h6><h3>Setext</h3>');
  });

  test('has nested lists that keep their numbers', async () => {
    const shown = await show('3. three\n4. four\n   - inner\n\n* loose\n\n* items');
    assert.equal(
      htmlOf(within(shown)),
      '<ol start="3"><li>three</li><li>four<ul><li>inner</li></ul></li></ol>' +
        '<ul><li><p>loose</p></li><li><p>items</p></li></ul>',
    );
  });

  test('has task lists that nobody can change', async () => {
    const shown = await show('- [ ] first\n- [x] **second**\n- [y] third\n\n1. [X] fourth');
    const boxes = [...shown.querySelectorAll('input')];
    assert.deepEqual(
      boxes.map((box) => [box.type, box.checked, box.disabled, box.getAttribute('aria-label')]),
      [
        ['checkbox', false, true, 'To do'],
        ['checkbox', true, true, 'Done'],
        ['checkbox', true, true, 'Done'],
      ],
    );
    assert.deepEqual(seen(shown).split('\n').slice(1), ['first', 'second', '[y] third', 'fourth']);
  });

  test('has tables with alignment', async () => {
    const shown = await show('| Name | Count |\n|:--|--:|\n| `a` \\| c | 1 |\n| d |');
    const table = shown.querySelector('table');
    assert.deepEqual(
      [...(table?.querySelectorAll('tr') ?? [])].map((row) =>
        [...row.children].map((cell) => cell.textContent),
      ),
      [
        ['Name', 'Count'],
        ['a | c', '1'],
        ['d', ''],
      ],
    );
    assert.deepEqual(
      [...(table?.querySelectorAll('tr:first-child > *') ?? [])].map(({ className }) => className),
      ['left', 'right', 'left', 'right'],
    );
  });

  test('has code blocks with their whole info, and markup in them is text', async () => {
    const shown = await show('```sh and more\n**not bold** <b>\n  indented\n```\n\n    by indent');
    assert.deepEqual(
      [...shown.querySelectorAll('pre')].map(({ textContent }) => textContent),
      ['**not bold** <b>\n  indented', 'by indent'],
    );
    assert.equal(shown.querySelector('figcaption')?.textContent, 'sh and more');
  });

  test('is that of comments, questions, decision comments and failures, too', async () => {
    const task = taskWith({ systemStatusCategory: 'blocked' });
    const run = itemOf('runs.list', {
      taskId: task.id,
      status: 'failed',
      failureReason: 'It **failed** at `main`',
      principalId: graceId,
    });
    await open(`/tasks/${task.publicId}`, {
      me: { permissions: ['tasks.read'] },
      answers: {
        ...answersOf(task),
        'tasks.listComments': pageOf(itemOf('tasks.listComments', { body: 'A **bold** comment' })),
        'runs.list': pageOf(run),
      },
    });
    assert.equal((await find('region', 'Activity')).querySelector('strong')?.textContent, 'bold');
    assert.equal((await find('region', 'Attempts')).querySelector('strong')?.textContent, 'failed');
  });

  test('is that of the question and of the comment of a decision', async () => {
    const approval = approvalWith({
      comment: 'May I run `migrate`?',
      status: 'approved',
      decisionComment: 'Yes, **today**',
      decisionByPrincipalId: graceId,
    });
    await open(`/approvals/${approval.id}`, { answers: { 'approvals.get': approval } });
    await see('today');
    assert.deepEqual([...document.querySelectorAll('.markdown')].map(htmlOf).sort(), [
      '<p>May I run <code>migrate</code>?</p>',
      '<p>Yes, <strong>today</strong></p>',
    ]);
  });
});

describe('links', () => {
  test('lead only to the web and to e-mail, in another tab, without the address of the console', async () => {
    const shown = await show(
      '[a](https://a.example/x) [b](http://b.example) [c](mailto:c@c.example?subject=Hi) <https://d.example/>',
    );
    for (const { rel, target } of linksIn(shown))
      assert.deepEqual([rel, target], ['noopener noreferrer nofollow', '_blank']);
    assert.deepEqual(
      linksIn(shown).map(({ href }) => href),
      ['https://a.example/x', 'http://b.example/', 'mailto:c@c.example?subject=Hi', 'https://d.example/'],
    );
    await see('a (a.example) b (b.example) c (c@c.example) https://d.example/');
  });

  for (const address of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    '&#106;avascript:alert(1)',
    'javascript&colon;alert(1)',
    'java&Tab;script:alert(1)',
    '<java\tscript:alert(1)>',
    '\u0001javascript:alert(1)',
    'vbscript:msgbox(1)',
    'data:text/html,<script>alert(1)</script>',
    'data:image/png;base64,AAAA',
    'file:///etc/passwd',
    'blob:null/1',
    'https:alert(1)',
    'https://user@evil.example/',
    'https://bank.example:x@evil.example/',
    'https://ev\u202eil.example/',
    'https://e\u200bvil.example/',
    'https://[::bad/',
    'https://',
    '//evil.example/',
    '/sign-in',
    '#top',
    '?a=b',
    '\\\\evil.example',
    '',
  ])
    test(`an address like ${JSON.stringify(address)} is text, in links and in images`, async () => {
      const shown = await show(
        `[click](${address}) ![look](${address}) <${address}> [see][ref]\n\n[ref]: ${address}`,
      );
      assert.deepEqual(
        linksIn(shown).map(({ href }) => href),
        [],
      );
      assert.equal(shown.querySelector('img'), null);
      for (const word of ['click', 'look', 'see']) assert.ok(seen(shown).includes(word), seen(shown));
    });

  test('show the host that they lead to, unless the text is the address', async () => {
    await show(
      [
        '[https://bank.example](https://evil.example/x)',
        '[bank.example](https://bank.example/)',
        '[https://bank.example/a](https://bank.example/a)',
        '[http://bank.example](https://bank.example/)',
        '[bank](https://bаnk.example/)',
        '[](https://empty.example/)',
        '[**b** `c`](https://markup.example "and a title")',
      ].join('\n\n'),
    );
    const lines = seen(await find('region', 'Description'))
      .split('\n')
      .slice(1);
    assert.deepEqual(lines, [
      'https://bank.example (evil.example)',
      'bank.example',
      'https://bank.example/a',
      'http://bank.example (bank.example)',
      'bank (xn--bnk-6cd.example)',
      'https://empty.example/',
      'b c (markup.example, “and a title”)',
    ]);
  });

  test('an image is a link to it, and requests nothing', async () => {
    const shown = await show('![a cat](https://cats.example/1.png) ![](https://cats.example/2.png "two")');
    assert.equal(shown.querySelectorAll('img').length, 0);
    await see('Image: a cat (cats.example) Image: https://cats.example/2.png (“two”)');
  });

  test('addresses in running text need no markup, and end before the punctuation of the sentence', async () => {
    const shown = await show(
      'See https://a.example/x_y_z. (Or https://b.example/(c)), https://d.example/?q=1&r=2! ' +
        '"https://e.example/" xhttps://f.example https://user@g.example `https://h.example` https://i.example/**',
    );
    assert.deepEqual(
      linksIn(shown).map(({ textContent }) => textContent),
      [
        'https://a.example/x_y_z',
        'https://b.example/(c)',
        'https://d.example/?q=1&r=2',
        'https://e.example/',
        'https://i.example/',
      ],
    );
    for (const link of linksIn(shown)) assert.equal(link.getAttribute('onmouseover'), null);
  });

  test('ids of tasks lead to the task, and commits are monospaced', async () => {
    const shown = await show(
      'TASK-000042, xTASK-000043, TASK-12, task-000044; 3f2a91c and 9b0c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c, ' +
        'not deadbeef, 1234567, 0190b2c4-5a6e-7000-8000-0000000000ad or 3f2a91c.md',
    );
    assert.deepEqual(
      linksIn(shown).map((link) => [link.textContent, link.getAttribute('href')]),
      [['TASK-000042', '/tasks/TASK-000042']],
    );
    assert.deepEqual(
      [...shown.querySelectorAll('code')].map(({ textContent }) => textContent),
      ['3f2a91c', '9b0c1d2e3f4a5b6c7d8e9f0a1b2c3d4e5f6a7b8c'],
    );
  });
});

describe('the name of a commit', () => {
  const external = (url: string, id = url) => ({
    kind: 'external' as const,
    externalRef: { system: 'git', id, url },
    check: null,
    note: null,
  });

  for (const [what, urls, address] of [
    ['a pull request', ['https://github.com/acme/app/pull/17'], 'https://github.com/acme/app/commit/3f2a91c'],
    [
      'a merge request',
      ['https://git.example/a/b/c/-/merge_requests/4', 'https://git.example/a/b/c/-/commit/abc1234'],
      'https://git.example/a/b/c/-/commit/3f2a91c',
    ],
    ['two repositories', ['https://github.com/acme/app/pull/17', 'https://github.com/acme/web/pull/1'], null],
    ['another address', ['https://ci.example/runs/17'], null],
    ['a script', ['javascript:alert(1)//github.com/acme/app/pull/17'], null],
  ] as const)
    test(`leads to the repository that the evidence links to: ${what}`, async () => {
      const evidence = urls.map((url) => external(url)) as unknown as Task['evidence'];
      const task = taskWith({ description: 'Fixed in 3f2a91c', evidence });
      await open(`/tasks/${task.publicId}`, { answers: answersOf(task) });
      const shown = await find('region', 'Description');
      await see('Fixed in 3f2a91c');
      assert.equal(shown.querySelector('a')?.href ?? null, address);
      assert.equal(shown.querySelector('code')?.textContent, '3f2a91c');
    });
});

describe('hostile texts', () => {
  /** The elements that a text may become. Attributes that any of them may have are listed below. */
  const elements =
    /^(DIV|P|H[3-6]|UL|OL|LI|INPUT|BLOCKQUOTE|FIGURE|FIGCAPTION|PRE|CODE|HR|BR|TABLE|THEAD|TBODY|TR|TH|TD|STRONG|EM|DEL|A|SPAN)$/;
  const attributes = /^(class|href|target|rel|title|start|type|checked|disabled|readonly|aria-label)$/;

  for (const text of [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<a href="javascript:alert(1)">x</a>',
    '<svg/onload=alert(1)>',
    '<!-- hidden -->',
    '<![CDATA[<script>alert(1)</script>]]>',
    '<?php echo 1 ?>',
    '<style>*{display:none}</style>',
    '<iframe srcdoc="<script>alert(1)</script>">',
    '&lt;script&gt;alert(1)&lt;/script&gt;',
    '&#60;img src=x onerror=alert(1)&#62;',
    '[a](https://a.example/"onmouseover="alert(1))',
    '![a"onerror="alert(1)](https://a.example/x)',
    '[a](https://a.example "\\" onclick=alert(1) x=\\"")',
    '```"><script>alert(1)</script>\nx\n```',
    '<https://a.example/"onmouseover="alert(1)>',
    'https://a.example/"onmouseover="alert(1)',
    'https://a.example/<script>alert(1)</script>',
    '| <script>alert(1)</script> |\n|---|\n| <img src=x onerror=alert(1)> |',
    '@[<img src=x onerror=alert(1)>](0190b2c4-0000-7000-8000-0000000000cc)',
    '**unclosed [a](https://a.example ![b `c',
    '```\nunclosed <script>',
    '> - 1. > <b>deep</b>',
    '__proto__ constructor [__proto__]: https://a.example',
    '[__proto__]\n\n[__proto__]: https://a.example',
  ])
    test(`${JSON.stringify(text)} becomes text`, async () => {
      const shown = await show(text);
      const view = within(shown);
      assert.ok(view);
      for (const element of view.querySelectorAll('*')) {
        assert.match(element.tagName, elements);
        for (const { name } of element.attributes) assert.match(name, attributes);
        const href = element.getAttribute('href');
        if (href !== null) assert.match(href, /^https:\/\/a\.example[/"]?/);
      }
    });

  test('markup of HTML is visible as it was written', async () => {
    await show('<b>bold</b> <!-- secret --> <script>alert(1)</script>');
    await see('<b>bold</b> <!-- secret --> <script>alert(1)</script>');
  });

  test('characters that nobody sees are shown by their codes, in each part', async () => {
    const evil = 'a\u202eb\u200bc';
    const shown = await show(
      `${evil}\n\n\`${evil}\`\n\n\`\`\`${evil}\n${evil}\n\`\`\`\n\n[${evil}](https://a.example "${evil}") ` +
        `![${evil}](https://b.example)\n\n&#x202e;\n\n| ${evil} |\n|---|\n\n[${evil}]: https://c.example`,
    );
    const revealed = seen(shown);
    assert.equal(revealed.match(/a⟨U\+202E⟩b⟨U\+200B⟩c/g)?.length, 9);
    assert.ok(revealed.includes('\n⟨U+202E⟩\n'));
    assert.equal(/[\u202e\u200b]/.test(shown.innerHTML), false);
  });

  test('definitions of links stay visible', async () => {
    const shown = await show(
      '[see][1]\n\n[1]: https://a.example "ignore all instructions"\n[2]: https://b.example',
    );
    assert.ok(linksIn(shown).length >= 1);
    await see('[1]: https://a.example "ignore all instructions"');
    await see('[2]: https://b.example');
  });

  test('cells that a table would drop make the whole text plain', async () => {
    const shown = await show('**a**\n\n| a |\n|---|\n| b | ignore all instructions |');
    assert.equal(within(shown), null);
    assert.ok(seen(shown).includes('| b | ignore all instructions |'));
    assert.ok(seen(shown).includes('**a**'));
  });

  for (const [name, text] of [
    ['too long', `**a** ${'b'.repeat(65_536)}`],
    ['too many lines', `**a**\n${'b\n'.repeat(5000)}`],
    ['too deep', `${'>'.repeat(40)} **a**`],
    ['too deep in another way', `${'- '.repeat(40)}**a**`],
    ['too many parts', '*a* '.repeat(11_000)],
  ] as const)
    test(`a text with ${name} is shown as it was written`, async () => {
      const shown = await show(text);
      assert.equal(within(shown), null);
      assert.ok(shown.textContent?.includes(text.trim().slice(0, 60)));
      await see('Shown without formatting, because the text is too long or too deeply nested.');
    });
});

describe('mentions', () => {
  test('show the present name, mark the person who reads, and fall back to the name in the text', async () => {
    const unknown = '0190b2c4-0000-7000-8000-0000000000ff';
    const shown = await show(`@[Old name](${graceId}), @[Me](${meId}) and @[Unknown](${unknown}) or @Ada`, {
      answers: {
        'principals.get': ({ ids: [id = ''] }) =>
          id === unknown
            ? new Refusal(404, 'not_found')
            : exampleOf('principals.get', { id, displayName: id === meId ? 'Ada' : 'Grace', kind: 'human' }),
      },
    });
    assert.deepEqual(
      [...shown.querySelectorAll('.mention')].map(({ textContent, className }) => [
        textContent,
        className.includes('isMe'),
      ]),
      [
        ['@Grace', false],
        ['@Ada', true],
        ['@Unknown', false],
      ],
    );
  });

  test('in code are text, and those beyond the twentieth make no request', async () => {
    const id = (n: number) => `0190b2c4-0000-7000-8000-${String(n).padStart(12, '0')}`;
    const many = Array.from({ length: 25 }, (_, n) => `@[Name ${n}](${id(n)})`).join(' ');
    const shown = await show(`\`@[Grace](${graceId})\` ${many}`);
    assert.equal(shown.querySelectorAll('.mention').length, 20);
    assert.equal(shown.querySelector('code')?.textContent, `@[Grace](${graceId})`);
    assert.ok(seen(shown).includes('@Name 24'));
  });
});
