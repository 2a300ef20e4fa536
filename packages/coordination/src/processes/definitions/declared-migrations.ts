import { inSlices } from '@baton/kernel/limits/slices';
import { prepareDefinition } from '@baton/process-engine/engine/definition-lists';
import { checkMigration, planMigration } from '@baton/process-engine/engine/migration/migration-plan';
import type { ProcessSpec } from '@baton/process-engine/language/definition';
import { elementsOf } from '@baton/process-engine/language/elements';
import { type ProcessProblem, problem } from '@baton/process-engine/language/problems';
import { newId } from '@baton/values/ids';
import { isInSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { upsertMigration } from './declared-migrations.sql.ts';
import type { KeyedDefinitionRow } from './definition.ts';
import { findDefinition } from './definitions.sql.ts';

/** The versions whose instances migrate to a later version (docs/reference/processes.md#migration). */

/**
 * Returns the problems that prevent instances of earlier versions from migrating to a candidate. A version that doesn't
 * exist, or that the caller doesn't see, causes no problem: its instances stay with it.
 * @param key of the definition; undefined if it has no version yet
 */
export async function findMigrationProblems(
  context: Context,
  key: string | undefined,
  spec: ProcessSpec,
): Promise<ProcessProblem[]> {
  const found: ProcessProblem[] = [];
  const seen = new Set<number>();
  const candidate = { definition: prepareDefinition(key ?? '', spec), kinds: kindsOf(spec) };
  for (const [n, migration] of spec.migrations.entries()) {
    const { from } = migration;
    if (seen.has(from))
      found.push(problem('schema_violation', `/migrations/${n}/from`, `version ${from} already exists`));
    seen.add(from);
    if (migration.policy !== 'migrate' || key === undefined) continue;
    const before = await findEarlierVersion(context, key, from);
    if (before === undefined) continue;
    const map = migration.map ?? {};
    const plan = planMigration(prepareDefinition(key, before.spec), candidate.definition, map);
    const kinds = { before: kindsOf(before.spec), now: candidate.kinds };
    const faults = await inSlices(checkMigration(plan, kinds));
    found.push(...faults.map(({ code, message }) => problem(code, `/migrations/${n}`, message)));
  }
  return found;
}

const kindsOf = (spec: ProcessSpec) => new Map([...elementsOf(spec)].map(({ id, kind }) => [id, kind]));

/** Undefined if the version doesn't exist or the caller may not see it. */
export async function findEarlierVersion(
  context: Context,
  key: string,
  version: number,
): Promise<KeyedDefinitionRow | undefined> {
  const { db, tenantId } = context;
  const row = await db.row(findDefinition(tenantId, key, version));
  if (row === undefined) return undefined;
  return (await isInSight(context, row.workspace_id)) ? row : undefined;
}

/**
 * Schedules the migration of instances to a version that is being published; the cost doesn't depend on their number.
 * @returns the versions that they currently have
 */
export async function scheduleMigrations(
  context: Context,
  key: string,
  { version, migrations }: Pick<ProcessSpec, 'version' | 'migrations'>,
): Promise<number[]> {
  const { db, tenantId } = context;
  const kept: number[] = [];
  for (const { from, policy, map = {} } of migrations) {
    if (policy === 'pin' || (await findEarlierVersion(context, key, from)) === undefined) continue;
    await db.run(
      upsertMigration({
        id: newId(),
        tenant_id: tenantId,
        definition_key: key,
        from_version: from,
        to_version: version,
        map,
      }),
    );
    kept.push(from);
  }
  return kept;
}
