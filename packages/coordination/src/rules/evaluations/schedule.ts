import { causeOfSchedule } from '../acts/cause.ts';
import type { RuleRow } from '../catalog/rule.ts';
import { ruleConsumer, scheduleSeconds } from '../catalog/rules.ts';
import type { Context } from '../context.ts';
import { lockPlace } from '../journal-turns/turns.ts';
import { lockAuthorities } from './authorities.ts';
import { findRuleOfEvaluation, takeSlot } from './enabled-rules.sql.ts';
import { evaluateRule, recordFailure, turnMsMax } from './evaluate-rule.ts';
import { runInSavepoint } from './savepoint.ts';

/**
 * Evaluates a rule whose schedule is due (docs/reference/rules.md#trigger). The due time is read and the next one set
 * in the same transaction; missed times are skipped. @returns 1, or 0 if it is no longer due or another process has
 * locked the tenant's turn
 * @throws AuthorityChanged
 */
export async function runSchedule(context: Context, ruleId: string): Promise<number> {
  const { db, tenantId, log } = context;
  const before = await db.row(findRuleOfEvaluation(tenantId, ruleId));
  const everySeconds = before === undefined ? null : scheduleSeconds(before);
  if (before === undefined || everySeconds === null) return 0;
  const authorities = await lockAuthorities(context, [before]);
  if ((await lockPlace(context, ruleConsumer)) === undefined) return 0;
  const slot = await db.row(takeSlot(tenantId, ruleId, everySeconds));
  if (slot === undefined) return 0;
  const rule = (await db.row(findRuleOfEvaluation(tenantId, ruleId))) as RuleRow;
  const authority = await authorities.of(rule);
  const cause = causeOfSchedule(rule, slot.slot_seconds);
  const untilMs = performance.now() + turnMsMax;
  const broke = await runInSavepoint(context, () => evaluateRule(context, rule, authority, cause, untilMs));
  if (broke === undefined) return 1;
  // The rule is evaluated again at its next due time.
  log.error({ err: broke.error, tenantId, ruleId }, 'work rule evaluation failed');
  await recordFailure(context, rule, authority, cause);
  return 1;
}
