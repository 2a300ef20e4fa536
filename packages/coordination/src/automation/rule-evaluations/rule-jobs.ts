import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { createTurnJob } from '../journal-turns/turn-job.ts';
import { ruleConsumer } from '../rules/rules.ts';
import { AuthorityChanged } from './authorities.ts';
import { type DueEvaluationRow, findDueEvaluations } from './evaluations.sql.ts';
import { lookAgain } from './looking-again.ts';
import { runSchedule } from './schedule.ts';
import { takeTurn } from './turn.ts';
import { type DueRuleRow, findDueRules } from './turns.sql.ts';

const batchMax = 50;

type Tools = JobTools<Context>;

/**
 * Has the rules of each tenant look at what happened, in turns (core, section 19): the least recently served tenant comes
 * first, so one with many events keeps no other.
 */
export function runRules(tools: Tools): Job {
  const name = 'work-rules';
  return createTurnJob(tools, name, ruleConsumer, (tenantId) =>
    unlessChanged(() => tools.command(name, tenantId, takeTurn), false),
  );
}

/** Has rules look whose time has come, each in a transaction of its own. */
export function runRuleSchedules({ pool, command, log }: Tools): Job {
  const name = 'rule-schedules';
  return createDueJob<DueRuleRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findDueRules(after, batchMax)),
      positionOf: ({ next_run_at: at, id }) => [at, id],
      handle: ({ id, tenant_id: tenantId }) =>
        unlessChanged(() => command(name, tenantId, (context) => runSchedule(context, id)), 0),
    },
  );
}

/** Looks again at evaluations that wait, each in a transaction of its own. */
export function lookAgainAtWaiting({ pool, command, log }: Tools): Job {
  const name = 'rule-evaluations';
  return createDueJob<DueEvaluationRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findDueEvaluations(after, batchMax)),
      positionOf: ({ next_check_at: at, id }) => [at, id],
      handle: ({ id, tenant_id: tenantId }) =>
        unlessChanged(() => command(name, tenantId, (context) => lookAgain(context, id)), 0),
    },
  );
}

/** What was rolled back because a rule got another authority in between is simply done later. */
async function unlessChanged<T>(act: () => Promise<T>, instead: T): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof AuthorityChanged) return instead;
    throw error;
  }
}
