import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { watchEventLoop } from '@baton/kernel/testing/process/processor-time';
import { isLongProof } from '@baton/testing/depth';
import { readPackage } from './read-package.ts';

const manifest = { path: 'package.yaml', content: 'key: desk\nversion: "1.0"\n' };
const documentOf = (kind: string, key: string, spec: object = {}) => ({
  path: `${kind}/${key}.yaml`,
  content: JSON.stringify({ apiVersion: 'baton/v1', kind, key, spec }),
});

/** The problems of a package with these files and a valid package.yaml. */
async function problemsOf(...files: { path: string; content: string }[]) {
  const { problems } = await readPackage([manifest, ...files]);
  return problems.map(({ code, file, path, line }) => [
    code,
    file,
    path,
    ...(line === undefined ? [] : [line]),
  ]);
}

test('reads YAML 1.2 and JSON: the package, its renames, and each document with its file', async () => {
  const content = 'apiVersion: baton/v1\nkind: Calendar\nkey: days\nspec:\n  displayName: no\n';
  const read = await readPackage([
    {
      path: 'package.yaml',
      content: 'key: desk\nversion: 1.0.1\ntitle: Desk\nrenames: [{kind: TaskType, from: old, to: new}]',
    },
    { path: 'a/days.yaml', content },
    documentOf('TaskType', 'new'),
  ]);
  assert.deepEqual(read, {
    package: {
      key: 'desk',
      version: '1.0.1',
      title: 'Desk',
      renames: [{ kind: 'TaskType', from: 'old', to: 'new' }],
    },
    documents: [
      {
        apiVersion: 'baton/v1',
        kind: 'Calendar',
        key: 'days',
        spec: { displayName: 'no' },
        file: 'a/days.yaml',
      },
      { apiVersion: 'baton/v1', kind: 'TaskType', key: 'new', spec: {}, file: 'TaskType/new.yaml' },
    ],
    problems: [],
  });
});

describe('reports problems with their file and place', () => {
  test('paths', async () => {
    const content = documentOf('Test', 'a').content;
    for (const path of ['/a.yaml', '../a.yaml', 'b/../../a.yaml', 'b//a.yaml', './a.yaml', 'C:a', 'b\\a'])
      assert.deepEqual(await problemsOf({ path, content }), [['invalid_document', path, '']]);
    assert.deepEqual(await problemsOf({ path: 'a', content }, { path: 'a', content }), [
      ['invalid_document', 'a', ''],
    ]);
  });

  test('text that is not YAML, with its line', async () => {
    assert.deepEqual(await problemsOf({ path: 'a.yaml', content: 'a: 1\nb: [\n' }), [
      ['invalid_yaml', 'a.yaml', '', 3],
    ]);
    assert.deepEqual(await problemsOf({ path: 'a.yaml', content: '{"a": [}' }), [
      ['invalid_yaml', 'a.yaml', '', 1],
    ]);
  });

  test('documents without the envelope, or of an unknown kind', async () => {
    assert.deepEqual(await problemsOf({ path: 'README.md', content: 'Read me.' }), [
      ['invalid_document', 'README.md', ''],
    ]);
    assert.deepEqual(await problemsOf(documentOf('Skill', 'a')), [
      ['invalid_document', 'Skill/a.yaml', '/kind'],
    ]);
    const old = documentOf('Test', 'a').content.replace('baton/v1', 'baton/v2');
    assert.deepEqual(await problemsOf({ path: 'a', content: old }), [
      ['invalid_document', 'a', '/apiVersion'],
    ]);
  });

  test('unresolved install variables', async () => {
    const file = documentOf('Calendar', 'a', { displayName: 'x ${TEAM}', years: ['$' + '{y.z}'] });
    assert.deepEqual(await problemsOf(file), [
      ['unresolved_install_variable', 'Calendar/a.yaml', '/spec/displayName'],
      ['unresolved_install_variable', 'Calendar/a.yaml', '/spec/years/0'],
    ]);
  });

  test('a missing or invalid package.yaml', async () => {
    assert.deepEqual((await readPackage([documentOf('Test', 'a')])).problems[0]?.file, 'package.yaml');
    const read = await readPackage([{ path: 'package.yaml', content: 'key: Desk\nversion: 1.0\nmore: 1' }]);
    assert.equal(read.package, undefined);
    assert.deepEqual(
      read.problems.map(({ path, hint }) => [path, hint !== undefined]),
      [
        ['/key', false],
        ['/version', true],
        ['', false],
      ],
    );
  });

  test('a duplicate object, and settings that are declared twice', async () => {
    const twice = (kind: string, key: string) =>
      problemsOf(documentOf(kind, 'a'), { ...documentOf(kind, key), path: 'b' });
    assert.deepEqual(await twice('View', 'a'), [['invalid_document', 'b', '/key']]);
    assert.deepEqual(await twice('View', 'b'), []);
    assert.deepEqual(await twice('Settings', 'b'), [['invalid_document', 'b', '/key']]);
  });

  test('renames to a missing document, of an existing document, or twice', async () => {
    const renames = [
      { kind: 'View', from: 'a', to: 'absent' },
      { kind: 'View', from: 'b', to: 'c' },
      { kind: 'View', from: 'd', to: 'd' },
      { kind: 'View', from: 'e', to: 'c' },
    ];
    const content = JSON.stringify({ key: 'desk', version: '1', renames });
    const { problems } = await readPackage([
      { path: 'package.yaml', content },
      documentOf('View', 'b'),
      documentOf('View', 'c'),
    ]);
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['/renames/0', '/renames/1', '/renames/2', '/renames/3'],
    );
  });
});

describe('a hostile package', () => {
  test('with aliases of aliases, nested deeply, with numbers that JSON does not hold, or too long', async () => {
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]'];
    for (let n = 0; n < 9; n += 1)
      bomb.push(`b${n}: &b${n} [${Array(9).fill(n === 0 ? '*a' : `*b${n - 1}`)}]`);
    const long = `a: &a "${'x'.repeat(60_000)}"\nb: [${Array(90).fill('*a')}]`;
    const hostile = {
      bomb: bomb.join('\n'),
      long,
      deep: `${'['.repeat(50_000)}`,
      deepJson: `{"a":${'['.repeat(400_000)}${']'.repeat(400_000)}}`,
      number: 'a: 123456789012345678901234567890',
      infinite: 'a: .inf',
      large: `a: ${'x'.repeat(70_000)}`,
      wide: JSON.stringify({ a: Array(30_000).fill(1) }),
      date: '- 2026-01-01',
      tagged: 'a: !!js/function x',
      nul: 'a: "\\0"',
      nulKey: '{"\\u0000": 1}',
      half: '{"a": "\\ud800"}',
    };
    for (const [name, content] of Object.entries(hostile)) {
      const [problem, ...others] = await problemsOf({ path: name, content });
      assert.deepEqual([problem?.[1], others.length], [name, 0]);
      assert.match(String(problem?.[0]), /^invalid_(document|yaml)$/);
    }
  });

  test('of 1 MiB in files of the slowest YAML blocks the event loop for less than 100 ms at a time', async () => {
    const flow = `[${'{a: b},'.repeat(9_300)}]`;
    const files = Array.from({ length: 16 }, (_, n) => ({ path: `f${n}`, content: flow }));
    const longestTurnMs = watchEventLoop();
    await readPackage([manifest, ...files]);
    const held = longestTurnMs();
    // The longest turn takes 40 ms on an idle machine, but other tests run in parallel.
    assert.ok(!isLongProof || held < 250, `${held} ms`);
  });

  test('reports 500 problems of a thousand invalid files', async () => {
    const files = Array.from({ length: 999 }, (_, n) => ({ path: `f${n}`, content: 'x' }));
    assert.equal((await readPackage([manifest, ...files])).problems.length, 500);
  });
});
