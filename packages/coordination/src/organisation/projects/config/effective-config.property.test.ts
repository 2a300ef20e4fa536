import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import type { ConfigDocument } from './config-document.ts';
import { effectiveConfigOf } from './effective-config.ts';
import { meetOf, violationsOf } from './governance.ts';
import type { Layer } from './layer.ts';

/** A naive implementation that visits each project, written from the reference documentation alone. */
function naive(chain: readonly Layer[], at: number): any {
  const project = chain[at] as Layer;
  const above = at === 0 ? undefined : naive(chain, at - 1);
  const { template: t, revision: r, profile } = project;
  const locked: string[] = above?.locked ?? [];
  const may = (key: string) => above.inheritable.includes('*') || above.inheritable.includes(key);
  const settings: any = {};
  const lay = (target: any, values: any = {}, allowed = (_key: string) => true) => {
    for (const key of Object.keys(values)) if (allowed(key)) target[key] = deep(target[key], values[key]);
  };
  lay(settings, t.settings);
  lay(settings, above?.settings, (key) => may(key));
  lay(settings, r?.settings, (key) => !locked.includes(key));
  lay(settings, profile, (key) => !locked.includes(key));
  const memory: any = {};
  lay(memory, t.memory);
  lay(memory, above?.memory);
  lay(memory, r?.memory);
  const governance: any = { ...above?.governance };
  for (const layer of [t.governance, r?.governance])
    for (const [name, value] of Object.entries(layer ?? {}))
      governance[name] = name in governance ? stricter(name, governance[name], value) : value;
  return {
    settings,
    memory,
    governance,
    views: r?.views ?? above?.views ?? t.views,
    inheritable: r?.inheritance?.inheritableSettings ?? t.inheritance?.inheritableSettings ?? ['*'],
    locked: [...locked, ...(r?.inheritance?.lockedSettings ?? t.inheritance?.lockedSettings ?? [])],
  };
}

function deep(below: any, over: any): any {
  const isObject = (value: any) => typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(below) || !isObject(over)) return over;
  const merged = { ...below };
  for (const key of Object.keys(over)) merged[key] = key in below ? deep(below[key], over[key]) : over[key];
  return merged;
}

const strictFirst: Record<string, any[]> = {
  maxAutonomyLevel: ['supervised', 'assisted', 'autonomous'],
  memoryScopeSharing: ['none', 'project', 'ancestors'],
  requireApprovalForRun: [true, false],
};

function stricter(name: string, one: any, other: any): any {
  const order = strictFirst[name];
  if (order !== undefined) return order[Math.min(order.indexOf(one), order.indexOf(other))];
  if (Array.isArray(one)) return one.filter((item) => other.includes(item));
  return one === null ? other : other === null ? one : Math.min(one, other);
}

const key = fc.constantFrom('a', 'b', 'c');
const value: fc.Arbitrary<any> = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    fc.nat(3),
    fc.constant(null),
    fc.array(fc.nat(2), { maxLength: 2 }),
    tie('object'),
  ),
  object: fc.dictionary(key, tie('node'), { maxKeys: 3, noNullPrototype: true }),
})).node;
const settings = fc.dictionary(key, value, { maxKeys: 3, noNullPrototype: true });
const governance = fc.record(
  {
    ...Object.fromEntries(
      Object.entries(strictFirst).map(([name, values]) => [name, fc.constantFrom(...values)]),
    ),
    allowedTaskPriorities: fc.subarray(['critical', 'high', 'low', 'medium']),
    maxRunActions: fc.option(fc.nat(4), { nil: null }),
  },
  { requiredKeys: [] },
);
const inheritance = fc.record(
  {
    inheritableSettings: fc.oneof(fc.constant(['*']), fc.subarray(['a', 'b', 'c'])),
    lockedSettings: fc.subarray(['a', 'b', 'c']),
  },
  { requiredKeys: [] },
);
const document = fc.record(
  { settings, governance, memory: settings, inheritance, views: fc.array(fc.nat(3), { maxLength: 2 }) },
  { requiredKeys: [] },
) as fc.Arbitrary<ConfigDocument>;
const layer = fc.record({
  template: document,
  revision: fc.option(document, { nil: undefined }),
  profile: settings,
});
const chainOf = (parts: readonly any[]): Layer[] =>
  parts.map((part, n) => ({
    ...{ projectId: newId(), workspaceId: newId(), version: n + 1, status: 'active' as const },
    ...{ templateId: newId(), templateKey: `t${n}`, templateVersion: 1, revisionId: newId() },
    ...{ revisionNumber: part.revision === undefined ? null : n + 1, isSeen: true },
    ...part,
  }));

test('equals the result of a naive walk over up to 64 projects', () => {
  fc.assert(
    fc.property(fc.array(layer, { minLength: 1, maxLength: 64 }), (parts) => {
      const chain = chainOf(parts);
      const { config, provenance } = effectiveConfigOf(chain);
      const expected = naive(chain, chain.length - 1);
      assert.deepEqual(config.settings, expected.settings);
      assert.deepEqual(config.memory, expected.memory);
      assert.deepEqual(config.governance, expected.governance);
      assert.deepEqual(config.views, expected.views ?? []);
      assert.deepEqual(provenance.lockedSettings, [...new Set(expected.locked)].sort());
      for (const part of ['settings', 'memory', 'governance'] as const)
        assert.deepEqual(Object.keys(provenance[part]).sort(), Object.keys(config[part]).sort());
    }),
    { numRuns: byDepth(100, 300) },
  );
});

test('each origin has the value: a list, a number, or the named part of an object', () => {
  fc.assert(
    fc.property(fc.array(layer, { minLength: 1, maxLength: 8 }), (parts) => {
      const chain = chainOf(parts);
      const { config, provenance } = effectiveConfigOf(chain);
      for (const [name, { projectId, layer: part, source }] of Object.entries(provenance.settings)) {
        const project = chain.find((one) => one.projectId === projectId) as Layer;
        assert.equal(source === 'ancestor', project !== chain.at(-1));
        const from =
          part === 'profile'
            ? project.profile
            : (part === 'revision' ? project.revision : project.template)?.settings;
        const said = (from as any)[name];
        assert.deepEqual(deep((config.settings as any)[name], said), config.settings[name]);
      }
    }),
    { numRuns: byDepth(100, 300) },
  );
});

test('governance only narrows: no layer allows more than its ancestors', () => {
  fc.assert(
    fc.property(fc.array(layer, { minLength: 2, maxLength: 12 }), (parts) => {
      const chain = chainOf(parts);
      const [above, below] = [chain.slice(0, -1), chain].map(
        (part) => effectiveConfigOf(part).config.governance,
      );
      assert.deepEqual(violationsOf(above as any, below as any), []);
    }),
    { numRuns: byDepth(100, 300) },
  );
});

test('the meet of two values is commutative and idempotent', () => {
  fc.assert(
    fc.property(governance, governance, (one: any, other: any) => {
      for (const name of Object.keys(one).filter((known) => known in other)) {
        assert.deepEqual(meetOf(name, one[name], other[name]), meetOf(name, other[name], one[name]));
        assert.deepEqual(meetOf(name, one[name], one[name]), one[name]);
      }
    }),
    { numRuns: byDepth(100, 500) },
  );
});
