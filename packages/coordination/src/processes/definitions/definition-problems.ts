import { inSlices } from '@baton/kernel/limits/slices';
import { checkDefinition } from '@baton/process-engine/language/checks';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { elementsOf } from '@baton/process-engine/language/elements';
import { type ProcessProblem, problem, reported } from '@baton/process-engine/language/problems';
import { type ReadDefinition, readDefinition } from '@baton/process-engine/language/read-definition';
import type { Json } from '@baton/values/wire';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import type { Context } from '../context.ts';
import { findMigrationProblems } from './declared-migrations.ts';
import type { KeyedDefinitionRow } from './definition.ts';
import { findExportedOutputs, findReferenceProblems } from './references.ts';

/** The problems of a definition, published or not (docs/reference/processes.md#problems). */

/** Undefined if the definition is malformed. */
export function hashDefinition({ spec }: ReadDefinition): string | undefined {
  return spec && canonicalHash(spec as unknown as Json, { fractions: 'allowed' });
}

interface Judged {
  readonly problems: ProcessProblem[];
  /** The keys of the calendars that the definition uses. */
  readonly calendars: readonly string[];
}

/**
 * @param latest the previous version
 */
export async function findProblems(
  context: Context,
  { spec, problems: found }: ReadDefinition,
  latest: KeyedDefinitionRow | undefined,
): Promise<Judged> {
  if (spec === undefined) return { problems: reported(found), calendars: [] };
  const before = new Map(
    latest === undefined ? [] : [...elementsOf(latest.spec)].map(({ id, kind }) => [id, kind]),
  );
  const checked = await inSlices(checkDefinition(spec, before, await findExportedOutputs(context, spec)));
  const references = await findReferenceProblems(context, spec, checked.calendars);
  const nobody =
    spec.identity === undefined
      ? [problem('unknown_agent', '/identity', 'must specify the agent that the process acts as')]
      : [];
  const migrations = await findMigrationProblems(context, latest?.key, spec);
  const problems = [...found, ...nobody, ...checked.problems, ...migrations, ...references.problems];
  return { problems: reported(problems), calendars: references.calendars };
}

/** Parses and validates a definition from a request. */
export async function validateDefinition(
  context: Context,
  sent: unknown,
  latest: KeyedDefinitionRow,
): Promise<{ spec: ProcessSpec | undefined; hash: string | undefined; problems: ProcessProblem[] }> {
  const read = await inSlices(readDefinition(sent));
  const { problems } = await findProblems(context, read, latest);
  return { spec: read.spec, hash: hashDefinition(read), problems };
}
