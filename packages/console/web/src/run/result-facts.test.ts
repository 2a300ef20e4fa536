import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bytes, costs, duration, money, short } from '../parts/amounts.ts';
import { commitOf, linksOf, noteOf, restOf, summaryOf, webAddress } from './result-facts.ts';
import { entriesOf } from './timeline-entries.ts';

describe('the output of a run', () => {
  test('has a summary, a commit, links, and the rest', () => {
    const output = {
      summary: 'Fixed the race.',
      commit: '3f2a91c0de',
      pullRequest: 'https://github.com/acme/shop/pull/12',
      deployment: { url: 'https://shop.example/', region: 'eu' },
      checks: ['https://ci.example/1', 'javascript:alert(1)'],
      steps: 4,
    };
    assert.equal(summaryOf(output), 'Fixed the race.');
    assert.equal(commitOf(output), '3f2a91c');
    assert.deepEqual(linksOf(output), [
      { label: 'Pull request', url: 'https://github.com/acme/shop/pull/12' },
      { label: 'Link', url: 'https://shop.example/' },
      { label: 'Build', url: 'https://ci.example/1' },
    ]);
    assert.deepEqual(Object.keys(restOf(output)), ['commit', 'pullRequest', 'deployment', 'checks', 'steps']);
  });

  test('a commit can be a link, and other texts are none', () => {
    assert.equal(commitOf({ commit: 'https://github.com/acme/shop/commit/3F2A91C0DE' }), '3F2A91C');
    for (const commit of ['none', 'xyz', '', 7, '3f2']) assert.equal(commitOf({ commit }), undefined);
  });

  test('an empty output, and one without text, have no summary', () => {
    assert.equal(summaryOf(null), undefined);
    assert.equal(summaryOf({ summary: { text: 'x' } }), undefined);
    assert.equal(summaryOf({ summary: '  ', result: 'ok' }), 'ok');
    assert.equal(noteOf({ step: 'Read the log' }), 'Read the log');
    assert.deepEqual(restOf({ step: 'Read the log', file: 'a' }, true), { file: 'a' });
  });

  for (const text of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,<script>',
    'https://user:secret@example.org/',
    'https://',
    '//example.org',
    ' https://example.org',
    `https://example.org/${'x'.repeat(2_000)}`,
    7,
    null,
  ])
    test(`${String(text).slice(0, 40)} is no link`, () => assert.equal(webAddress(text), undefined));

  test('links of a large output are bounded', () => {
    const many = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, place) => [`k${place}`, `https://example.org/${place}`]),
    );
    assert.equal(linksOf(many).length, 20);
    let deep: Record<string, unknown> = { url: 'https://example.org/' };
    for (let level = 0; level < 10_000; level += 1) deep = { deep };
    assert.deepEqual(linksOf(deep), []);
  });
});

describe('amounts', () => {
  test('durations have at most two units', () => {
    assert.deepEqual([0, 42_000, 720_000, 3_900_000, 3_600_000, 90_000_000, -5].map(duration), [
      'under 1 s',
      '42 s',
      '12 min',
      '1 h 5 min',
      '1 h',
      '1 d 1 h',
      'under 1 s',
    ]);
  });

  test('money has its currency, also an unknown one', () => {
    assert.equal(money(420_000, 'USD'), '$0.42');
    assert.equal(money(1_200, 'USD'), '$0.0012');
    assert.equal(money(1_500_000, 'credits of Acme'), '1.50 credits of Acme');
    const usage = { inputTokens: 1, outputTokens: 1 };
    assert.equal(costs({ ...usage, costs: [] }), undefined);
    assert.equal(
      costs({
        ...usage,
        costs: [
          { currency: 'USD', costMicros: 420_000 },
          { currency: 'EUR', costMicros: 1_000_000 },
        ],
      }),
      '$0.42 + €1.00',
    );
  });

  test('counts and sizes are short', () => {
    assert.deepEqual([0, 950, 12_400].map(short), ['0', '950', '12.4K']);
    assert.deepEqual([0, 612, 1_400_000, 25_000_000].map(bytes), ['0 bytes', '612 bytes', '1.4 MB', '25 MB']);
  });
});

test('the timeline is in order of time, and shows a checkpoint and a message once', () => {
  const entry = (id: string, minute: number) => ({ id, createdAt: `2026-03-02T09:0${minute}:00.000Z` });
  const entries = entriesOf({
    checkpoints: [entry('c1', 2)],
    actions: [{ ...entry('a1', 1), startedAt: '2026-03-02T09:01:00.000Z' }],
    messages: [{ ...entry('m1', 3), acceptedAt: '2026-03-02T09:03:00.000Z' }],
    events: [
      { id: 'e1', type: 'run.started', occurredAt: '2026-03-02T09:00:00.000Z' },
      { id: 'e2', type: 'run.checkpointed', occurredAt: '2026-03-02T09:02:00.000Z' },
      { id: 'e3', type: 'run.control_message.accepted', occurredAt: '2026-03-02T09:03:00.000Z' },
      { id: 'e4', type: 'run.succeeded', occurredAt: '2026-03-02T09:04:00.000Z' },
    ],
  } as never);
  assert.deepEqual(
    entries.map(({ key }) => key),
    ['e1', 'a1', 'c1', 'm1', 'e4'],
  );
});
