import type { ItemPage } from '@baton/kernel/database/list';
import { newId } from '@baton/values/ids';
import type { Json, JsonObject } from '@baton/values/wire';
import { checkDocument } from '../../service/documents.ts';
import type { WholeListQuery } from '../../service/whole-list.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { journalPage, journalSlice } from '../runs/journal-page.ts';
import { type LiveRunRow, requireLiveRun } from '../runs/live-run.ts';
import { refuseOtherCurrency, refuseSpentBudget, refuseSpentDuration } from '../usage/budgets.ts';
import { currencyDefault, isCurrency } from '../usage/usage.ts';
import {
  type Action,
  type ActionRequest,
  type ActionResult,
  type ActionRow,
  actionOf,
  actionStatuses,
  type UsageInput,
} from './action.ts';
import {
  countActions,
  findAction,
  findActions,
  findAssignedSkill,
  findGrantedSkills,
  insertAction,
  type UsedAmounts,
  updateActionToFinished,
} from './actions.sql.ts';

const nameCharactersMax = 200;

/**
 * Records an action of an executor, started or already finished (docs/reference/actions-and-usage.md#actions). Requires
 * the run's live claim. A refused action uses no number and no budget. No event is emitted: actions are the run's own
 * audit log. The session's protocols never cause a refusal: a skill with another protocol is recorded in
 * `metadata.capabilityMismatch` (docs/reference/sessions.md#harness-protocol).
 * @throws Refusal `invalid_action`, `invalid_status`, those of a document, those of `requireLiveRun`,
 * `budget_exceeded`, `run_cancel_requested`, `tool_not_authorized`
 */
export async function createAction(
  context: Context,
  runId: string,
  { action, status, skill, externalReference, metadata, usage }: ActionRequest,
): Promise<Action> {
  if (action.trim() === '' || action.length > nameCharactersMax)
    fail('invalid_action', { field: 'action', maxLength: nameCharactersMax });
  const used = usedAmounts(usage);
  requireStatus(status, actionStatuses);
  checkDocument(metadata, { field: 'metadata' });
  const run = await requireLiveRun(context, runId);
  await refuseOtherCurrency(context, run, used.currency);
  const granted =
    skill == null || run.child_handle_id === null
      ? null
      : await requireGrantedSkill(context, run.child_handle_id, skill);
  refuseSpentDuration(run);
  if (run.cancel_applied_at !== null) fail('run_cancel_requested', { runId });
  const found = skill == null ? undefined : await requireSkill(context, run, skill, granted);
  await refuseSpentBudget(context, run);
  const row = await context.db.row(
    insertAction({
      id: newId(),
      tenantId: context.tenantId,
      runId,
      skillId: found?.id ?? null,
      action,
      status,
      externalReference: externalReference ?? null,
      metadata: withMismatch(metadata, found?.unnamed_protocol),
      usage: used,
    }),
  );
  return actionOf(row as ActionRow);
}

/**
 * Sets the service's own member in the metadata, which overwrites any submitted value and doesn't count towards any
 * limit.
 */
function withMismatch(metadata: JsonObject, protocol: Json | undefined): JsonObject {
  const { capabilityMismatch: _, ...sent } = metadata;
  return protocol == null ? sent : { ...sent, capabilityMismatch: protocol };
}

/**
 * Finishes a started action, once. Its metadata and usage are added to the recorded ones.
 * @throws Refusal `invalid_status`, those of a document, `not_found`, those of `requireLiveRun`,
 * `action_already_finished`, `invalid_action`
 */
export async function finishAction(
  context: Context,
  runId: string,
  actionId: string,
  { status, externalReference, metadata: added, usage }: ActionResult,
): Promise<Action> {
  const { db, tenantId } = context;
  const used = usedAmounts(usage);
  requireStatus(status, ['completed', 'failed']);
  checkDocument(added, { field: 'metadata' });
  if ((await db.row(findAction(tenantId, runId, actionId))) === undefined) fail('not_found');
  const run = await requireLiveRun(context, runId);
  // Read again under the run's lock, so that it can't change.
  const action = (await db.row(findAction(tenantId, runId, actionId))) as ActionRow;
  if (action.status !== 'started') fail('action_already_finished', { actionId, status: action.status });
  await refuseOtherCurrency(context, run, used.currency, action.currency);
  const metadata = withMismatch({ ...action.metadata, ...added }, undefined);
  checkDocument(metadata, { field: 'metadata' });
  const row = await db.row(
    updateActionToFinished({
      id: actionId,
      tenantId,
      runId,
      status,
      externalReference: externalReference ?? null,
      metadata: withMismatch(metadata, action.metadata['capabilityMismatch']),
      usage: used,
    }),
  );
  return actionOf(row as ActionRow);
}

/**
 * Finds the given version of a skill or its newest one, if it is enabled and assigned to the run's principal.
 * @param granted the skills, as `name@version`, that the run's handle grants; null if the run was not launched
 */
async function requireSkill(
  { db, tenantId }: Context,
  run: LiveRunRow,
  skill: string,
  granted: readonly string[] | null,
) {
  const found = await db.row(findAssignedSkill(tenantId, run, skill, granted));
  return found ?? fail('tool_not_authorized', { skill });
}

/**
 * A launched run may only use the skills that its handle grants, each as `name@version`, even if others are assigned to
 * its principal.
 * @returns the granted skills that match `skill`
 */
async function requireGrantedSkill(
  { db, tenantId }: Context,
  handleId: string,
  skill: string,
): Promise<string[]> {
  const granted = (await db.rows(findGrantedSkills(tenantId, handleId, skill))).map(({ name }) => name);
  return granted.length > 0 ? granted : fail('child_grant_exceeded', { required: [skill] });
}

function requireStatus(status: string, known: readonly string[]): void {
  if (!known.includes(status)) fail('invalid_status', { known });
}

/** @throws Refusal `invalid_action` for an unknown currency */
function usedAmounts(usage: UsageInput | null | undefined): UsedAmounts {
  const { inputTokens = null, outputTokens = null, costMicros = null } = usage ?? {};
  const currency = usage?.currency ?? (costMicros === null ? null : currencyDefault);
  if (currency !== null && !isCurrency(currency))
    fail('invalid_action', { field: 'usage.currency', currency });
  return { inputTokens, outputTokens, costMicros, currency };
}

/** Lists the actions of a run, oldest first. @throws Refusal `not_found`, `invalid_limit`, `invalid_cursor` */
export async function listActions(
  { db, tenantId }: Context,
  runId: string,
  query: WholeListQuery,
): Promise<ItemPage<Action>> {
  const { count } = (await db.row(countActions(tenantId, runId))) ?? fail('not_found');
  const slice = journalSlice(query, 'actions', runId);
  const rows = await db.rows(findActions(tenantId, runId, slice));
  return journalPage(slice, rows, count, actionOf);
}
