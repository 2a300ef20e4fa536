import assert from 'node:assert/strict';
import { newId } from '@baton/values/ids';
import type { Actor } from '../coordination.ts';
import { done } from '../leases.ts';

/** A document of a package. */
export interface TestDocument {
  kind: string;
  key: string;
  spec: object;
}

/** A unique key. */
export const newKey = (letter = 'k') => `${letter}${newId()}`;

/** The files of a package. */
export function sourceOf(
  { key, version = '1.0', ...more }: { key: string; version?: string; renames?: object[]; title?: string },
  documents: readonly TestDocument[],
) {
  const files = documents.map(({ kind, key: of, spec }, n) => ({
    path: `${kind}-${n}.yaml`,
    content: JSON.stringify({ apiVersion: 'baton/v1', kind, key: of, spec }),
  }));
  return { files: [{ path: 'package.yaml', content: JSON.stringify({ key, version, ...more }) }, ...files] };
}

/** Plans a package and applies the plan. @returns both responses */
export async function applyDocuments(
  actor: Actor,
  named: Parameters<typeof sourceOf>[0],
  documents: readonly TestDocument[],
  more: object = {},
) {
  const body = { package: sourceOf(named, documents), ...more };
  const plan = await done(actor.post('/packages:plan', body));
  assert.deepEqual(
    plan.problems.filter(({ severity }: { severity: string }) => severity === 'error'),
    [],
  );
  const applied = await done(actor.post('/packages:apply', { ...body, planHash: plan.planHash }));
  return { plan, applied };
}

/** Plans a package, which writes nothing. */
export async function planDocuments(
  actor: Actor,
  named: Parameters<typeof sourceOf>[0],
  documents: readonly TestDocument[],
  more: object = {},
) {
  return done(actor.post('/packages:plan', { package: sourceOf(named, documents), ...more }));
}
