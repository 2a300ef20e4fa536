import { type ItemPage, listPage } from '@baton/kernel/list';
import type { Page } from '@baton/kernel/paging';
import { requireSight } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { getRuleRow } from '../rules/rules.ts';
import { evaluationOf, evaluationStatuses, type RuleEvaluation } from './evaluation.ts';
import { findEvaluation, findEvaluations } from './evaluations.sql.ts';

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
