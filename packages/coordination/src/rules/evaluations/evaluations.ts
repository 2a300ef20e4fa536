import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { requireSight } from '../../service/sight/sight.ts';
import type { RuleRow } from '../catalog/rule.ts';
import { getRuleRow } from '../catalog/rules.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { evaluationOf, evaluationStatuses, type RuleEvaluation } from './evaluation.ts';
import { findEvaluation, findEvaluations, isPendingFull } from './evaluations.sql.ts';

/** The evaluations of a rule, newest first. @throws Refusal `not_found`, `invalid_status`, `invalid_cursor` */
export async function listEvaluations(
  context: Context,
  ruleId: string,
  status: string | undefined,
  page: Page,
): Promise<ItemPage<RuleEvaluation>> {
  await getRuleRow(context, ruleId);
  if (status !== undefined && !evaluationStatuses.some((known) => known === status))
    fail('invalid_status', { allowed: evaluationStatuses });
  return listPage(context.db, findEvaluations(context.tenantId, ruleId, status, page), evaluationOf);
}

/** @throws Refusal `not_found` */
export async function getEvaluation(context: Context, id: string): Promise<RuleEvaluation> {
  const details = { evaluationId: id };
  const row = (await context.db.row(findEvaluation(context.tenantId, id))) ?? fail('not_found', details);
  await requireSight(context, row.workspace_id, details);
  return evaluationOf(row);
}

/** Whether the limit of pending evaluations is reached: each of them is retried periodically. */
export async function isPendingLimitReached(
  { db, tenantId, settings }: Context,
  rule: RuleRow,
  evaluationId: string,
): Promise<boolean> {
  const { CP_RULES_WAITING_MAX: ofRuleMax } = settings;
  const bounds = { exceptId: evaluationId, ofRuleMax, ofTenantMax: ofRuleMax * 10 };
  return (await db.row(isPendingFull(tenantId, rule.id, bounds)))?.is_full === true;
}
