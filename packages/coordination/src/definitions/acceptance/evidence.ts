import { z } from 'zod';
import { Uuid } from '@baton/values/wire';
import { refuseSecretText } from '../../service/documents.ts';
import { viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { checkKeyForm } from './acceptance.ts';
import { findArtifactIds, findContextPackIds, findObservationIds } from './evidence.sql.ts';
import { parseDocument, withoutNulls } from './parsed-document.ts';

export const evidenceItemsMax = 200;

const about = { check: z.string().regex(checkKeyForm).nullish(), note: z.string().max(1000).nullish() };
const ExternalRef = z.strictObject({
  system: z.string().min(1).max(128),
  id: z.string().min(1).max(512),
  url: z.string().min(1).max(2048).nullish(),
});

/**
 * A fact that supports a task: a record of this service, or an object of another system
 * (docs/reference/definitions.md#evidence).
 */
export const Evidence = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('observation'), observationId: Uuid, ...about }),
  z.strictObject({ kind: z.literal('artifact'), artifactId: Uuid, ...about }),
  z.strictObject({ kind: z.literal('context_pack'), contextPackId: Uuid, ...about }),
  z.strictObject({ kind: z.literal('external'), externalRef: ExternalRef, ...about }),
]);
export type Evidence = z.infer<typeof Evidence>;

/** Evidence as stored with its task. The author determines whether it counts. */
export type TaskEvidence = Evidence & { addedByPrincipalId?: string };

/**
 * Parses a list of evidence; `requireEvidenceTargets` checks that the facts exist.
 * @param field the list's name in the body
 * @throws Refusal `invalid_evidence`, `secret_material_rejected`, `duplicate_evidence`
 */
export function parseEvidence(sent: readonly unknown[], field = 'evidence'): Evidence[] {
  const items = sent.map((item, index) => {
    const at = `${field}[${index}]`;
    const evidence = withoutNulls(parseDocument(Evidence, item, at, 'invalid_evidence'));
    if (evidence.note) refuseSecretText(evidence.note, `${at}.note`);
    if (evidence.kind !== 'external') return evidence;
    const externalRef = withoutNulls(evidence.externalRef);
    for (const [name, text] of Object.entries(externalRef))
      refuseSecretText(text as string, `${at}.externalRef.${name}`);
    return { ...evidence, externalRef };
  });
  const facts = items.map((item) => JSON.stringify([factOf(item), item.check ?? null]));
  const repeated = facts.findIndex((fact, index) => facts.indexOf(fact) !== index);
  if (repeated >= 0) fail('duplicate_evidence', { field: `${field}[${repeated}]` });
  return items;
}

function factOf(item: Evidence): readonly string[] {
  if (item.kind === 'observation') return [item.kind, item.observationId];
  if (item.kind === 'artifact') return [item.kind, item.artifactId];
  if (item.kind === 'context_pack') return [item.kind, item.contextPackId];
  return [item.kind, item.externalRef.system, item.externalRef.id];
}

/** @throws Refusal `unknown_acceptance_check` for evidence of a check that neither the task nor its type has */
export function requireKnownChecks(evidence: readonly Evidence[], known: readonly string[]): void {
  const index = evidence.findIndex(({ check }) => check != null && !known.includes(check));
  const check = evidence[index]?.check;
  if (check != null) fail('unknown_acceptance_check', { field: `evidence[${index}]`, check, known });
}

/**
 * Looks up the targets of evidence.
 * @throws Refusal `not_found` with the id of the first target that doesn't exist or isn't visible to the caller
 */
export async function requireEvidenceTargets(
  context: Context,
  evidence: readonly TaskEvidence[],
): Promise<void> {
  const known = await findKnownFacts(context, evidence);
  for (const { kind, check: _, note: __, addedByPrincipalId: ___, ...target } of evidence) {
    if ('externalRef' in target) continue;
    const [id] = Object.values(target);
    if (!known.has(`${kind}/${id}`)) fail('not_found', target);
  }
}

/** The existing targets, as `artifact/<id>` and the like. */
async function findKnownFacts(context: Context, evidence: readonly Evidence[]): Promise<ReadonlySet<string>> {
  const { db, tenantId } = context;
  const known = new Set<string>();
  const lookups = [
    ['artifact', findArtifactIds],
    ['observation', findObservationIds],
    ['context_pack', findContextPackIds],
  ] as const;
  for (const [kind, find] of lookups) {
    const ids = evidence.flatMap((item) => (item.kind === kind ? idOf(item) : []));
    if (ids.length === 0) continue;
    const rows = await db.rows(find(tenantId, await viewerOf(context), ids));
    for (const { id } of rows) known.add(`${kind}/${id}`);
  }
  return known;
}

function idOf(item: Evidence): string[] {
  if (item.kind === 'external') return [];
  if (item.kind === 'artifact') return [item.artifactId];
  return [item.kind === 'observation' ? item.observationId : item.contextPackId];
}
