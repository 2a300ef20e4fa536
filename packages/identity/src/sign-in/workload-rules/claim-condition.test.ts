import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ClaimConditions, meets, mostSpecific } from './claim-condition.ts';

test('a condition is met by the value, its beginning, or one of a set; of a list by one element', () => {
  const token = {
    ref: 'refs/heads/main',
    project_id: 22,
    ref_protected: true,
    aud: ['a', 'b'],
    'kubernetes.io': { namespace: 'agents', 'a/b~c': 'x', pod: null },
  };
  for (const [name, condition, isMet] of [
    ['ref', { equals: 'refs/heads/main' }, true],
    ['ref', { equals: 'refs/heads/mai' }, false],
    ['ref', { equals: 'REFS/heads/main' }, false],
    ['ref', { prefix: 'refs/heads/' }, true],
    ['ref', { prefix: 'heads/' }, false],
    ['ref', { oneOf: ['x', 'refs/heads/main'] }, true],
    ['ref', { oneOf: ['x'] }, false],
    ['project_id', { equals: '22' }, true],
    ['ref_protected', { equals: 'true' }, true],
    ['aud', { equals: 'b' }, true],
    ['aud', { equals: 'a,b' }, false],
    ['/kubernetes.io/namespace', { equals: 'agents' }, true],
    ['/kubernetes.io/a~1b~0c', { equals: 'x' }, true],
    ['/kubernetes.io/pod/name', { prefix: 'x' }, false],
    ['/kubernetes.io', { prefix: '[object' }, false],
    ['kubernetes.io/namespace', { equals: 'agents' }, false],
    ['toString', { prefix: 'f' }, false],
    ['/constructor/name', { equals: 'Object' }, false],
    ['/ref/length', { equals: '15' }, false],
    ['absent', { prefix: 'x' }, false],
  ] as const)
    assert.equal(meets(token, { [name]: condition as never }), isMet, `${name} ${JSON.stringify(condition)}`);
});

test('all conditions must be met', () => {
  const token = { a: '1', b: '2' };
  assert.ok(meets(token, { a: { equals: '1' }, b: { equals: '2' } }));
  assert.ok(!meets(token, { a: { equals: '1' }, b: { equals: '1' } }));
});

test('a rule is the more specific one if it implies all conditions of the others, and only then', () => {
  const rules: Record<string, ClaimConditions> = {
    repository: { id: { equals: '1' } },
    repositories: { id: { oneOf: ['1', '2'] } },
    branches: { id: { equals: '1' }, ref: { prefix: 'refs/heads/' } },
    releases: { id: { equals: '1' }, ref: { prefix: 'refs/heads/release/' } },
    main: { id: { equals: '1' }, ref: { equals: 'refs/heads/main' } },
    pushes: { id: { equals: '1' }, event: { equals: 'push' } },
  };
  for (const [keys, expected] of [
    [[], undefined],
    [['pushes'], 'pushes'],
    [['repositories', 'repository'], 'repository'],
    [['repositories', 'main', 'branches', 'repository'], 'main'],
    [['branches', 'releases'], 'releases'],
    [['main', 'pushes'], undefined],
    [['repository', 'main', 'pushes'], undefined],
    [['main', 'main'], undefined],
  ] as const)
    for (const order of [keys, [...keys].reverse()]) {
      const given = order.map((key) => ({ key, claims: rules[key] as ClaimConditions }));
      assert.equal(mostSpecific(given)?.key, expected, order.join());
    }
  const sets = [{ claims: { id: { oneOf: ['1'] } } }, { claims: { id: { equals: '1' } } }];
  assert.equal(mostSpecific(sets), undefined, 'a set of one is the same condition');
});
