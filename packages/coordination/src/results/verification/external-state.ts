import { getCorePrincipalId } from '../../access/principals/principals.ts';
import type { TaskEvidence } from '../../definitions/acceptance/evidence.ts';
import type { NotCounted } from '../../work/verifications/attempt.ts';
import type { Context } from '../context.ts';
import { findProvers, type Provers, proversAmong } from '../provers/provers.ts';
import type { CheckEvaluation, CheckOutcome } from './check-evaluation.ts';
import { findEventOfTask, findRecordedFacts, type RecordedFactRow } from './external-state.sql.ts';

const evidenceMax = 5;
const evidenceCharactersMax = 200;
/** Maximum number of rejected evidence items listed in the result. */
const notCountedMax = 20;
const notFromProver = 'The evidence is from principals who may not prove this check.';

/**
 * Waits for evidence for the check or, if the check specifies an event, for that event on the task since the attempt
 * began. Only evidence from a prover counts; other evidence is listed in the result.
 */
export async function evaluateExternalState(
  context: Context,
  evaluation: CheckEvaluation,
): Promise<CheckOutcome> {
  const { attempt, task, check, hasWaited } = evaluation;
  const provers = await findProvers(
    context,
    { id: task.id, workspaceId: task.workspace_id },
    attempt.requester_id,
    check.spec?.['prover'],
  );
  const offered = task.evidence.filter((item) => item.check === check.key);
  const { counted, notCounted } = await sort(context, task.id, provers, offered);
  if (counted.length > 0) return { is: 'passed', evidence: counted.slice(0, evidenceMax), notCounted };
  const type = check.spec?.['event'];
  if (typeof type === 'string') {
    const find = (of: Provers | null) => findEventOfTask(context.tenantId, task.id, type, attempt, of);
    const event = await context.db.row(find(provers));
    if (event !== undefined) return { is: 'passed', evidence: [`event:${event.id}`], notCounted };
    const other = await context.db.row(find(null));
    if (other !== undefined)
      notCounted.push({ evidence: `event:${other.id}`, principalId: other.author, reason: 'not_a_prover' });
  }
  const isOver =
    hasWaited && attempt.waited_seconds >= context.settings.CP_VERIFICATION_EXTERNAL_TIMEOUT_SECONDS;
  if (isOver && notCounted.length === 0) return { is: 'failed', reason: 'no_result' };
  if (isOver) return { is: 'failed', reason: 'not_a_prover', message: notFromProver, notCounted };
  return { is: 'waiting', for: 'waiting_external', notCounted };
}

/** Separates evidence from provers from other evidence. */
async function sort(
  context: Context,
  taskId: string,
  provers: Provers,
  offered: readonly TaskEvidence[],
): Promise<{ counted: string[]; notCounted: NotCounted[] }> {
  if (offered.length === 0) return { counted: [], notCounted: [] };
  const { db, tenantId } = context;
  const ids = offered.flatMap((item) => factIdOf(item) ?? []);
  const facts = new Map((await db.rows(findRecordedFacts(tenantId, ids))).map((fact) => [fact.id, fact]));
  const authors = [
    ...offered.flatMap(({ addedByPrincipalId: id }) => id ?? []),
    ...[...facts.values()].map(({ author }) => author),
  ];
  const proving = await proversAmong(context, provers, [...new Set(authors)]);
  const vouching = new Set([...proving, await getCorePrincipalId(context)]);
  const [counted, notCounted]: [string[], NotCounted[]] = [[], []];
  for (const item of offered) {
    const fact = facts.get(factIdOf(item) ?? '');
    const evidence = nameOf(item);
    if (isProof(item, fact, { taskId, proving, vouching })) counted.push(evidence);
    else if (notCounted.length < notCountedMax)
      notCounted.push({
        evidence,
        principalId: (item.kind === 'observation' ? fact?.author : item.addedByPrincipalId) ?? null,
        reason: 'not_a_prover',
      });
  }
  return { counted, notCounted };
}

/**
 * An observation or an artifact that concerns this task counts as evidence from its author. One that doesn't counts
 * only if a prover, or a rule, has added it to this task as evidence. Other evidence counts as evidence from the
 * principal that added it.
 */
function isProof(
  { kind, addedByPrincipalId: addedBy = '' }: TaskEvidence,
  fact: RecordedFactRow | undefined,
  {
    taskId,
    proving,
    vouching,
  }: { taskId: string; proving: ReadonlySet<string>; vouching: ReadonlySet<string> },
): boolean {
  const isOfTask = fact?.task_id === taskId;
  const isByProver = fact !== undefined && proving.has(fact.author);
  if (kind === 'observation') return isByProver && (isOfTask || vouching.has(addedBy));
  if (kind === 'artifact') return proving.has(addedBy) || (isByProver && isOfTask);
  return proving.has(addedBy);
}

function factIdOf(item: TaskEvidence): string | undefined {
  if (item.kind === 'observation') return item.observationId;
  return item.kind === 'artifact' ? item.artifactId : undefined;
}

/** A reference in the format of results, such as `external:ci/12` or `observation:<id>`. */
function nameOf(item: TaskEvidence): string {
  return `${item.kind}:${idOf(item)}`.slice(0, evidenceCharactersMax).toWellFormed();
}

function idOf(item: TaskEvidence): string {
  if (item.kind === 'observation') return item.observationId;
  if (item.kind === 'artifact') return item.artifactId;
  if (item.kind === 'context_pack') return item.contextPackId;
  return `${item.externalRef.system}/${item.externalRef.id}`;
}
