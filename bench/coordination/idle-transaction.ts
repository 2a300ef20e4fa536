import pg from 'pg';
import { Measurement } from '../measurement.ts';
import type { Workload } from './workloads.ts';

/** The rates of calls during an idle transaction, and before it. */
export interface HeldFigures {
  readonly name: string;
  readonly perSecondBefore: number;
  readonly perSecondHeld: number;
  readonly ratio: number;
  readonly p50MsBefore: number;
  readonly p50MsHeld: number;
}

/** Rounds before the idle transaction, and at its end. */
const rounds = 5;

/**
 * Measures calls, then continues them at full load for `seconds` while another transaction with a snapshot is open, so
 * that vacuum can't remove dead rows, and measures the end of that time.
 * @param round measures one second of a workload
 */
export async function measureHeld(
  storeUrl: string,
  workloads: readonly Workload[],
  seconds: number,
  round: (workload: Workload, measurement: Measurement) => Promise<void>,
): Promise<HeldFigures[]> {
  const roundsOf = async (workload: Workload, count: number) => {
    const measurement = new Measurement();
    for (let at = 0; at < count; at += 1) await round(workload, measurement);
    return measurement.figures();
  };
  const before = [];
  for (const workload of workloads) before.push(await roundsOf(workload, rounds));
  const client = new pg.Client({ connectionString: storeUrl, application_name: 'baton-bench idle' });
  await client.connect();
  try {
    await client.query('begin isolation level repeatable read');
    await client.query('select pg_current_xact_id(), (select count(*) from tenants)');
    const each = Math.ceil(seconds / workloads.length);
    const figures: HeldFigures[] = [];
    for (const workload of workloads) await roundsOf(workload, each - rounds);
    for (const [index, workload] of workloads.entries()) {
      const [then, now] = [before[index], await roundsOf(workload, rounds)] as const;
      if (then === undefined) continue;
      figures.push({
        name: workload.name,
        perSecondBefore: then.perSecond,
        perSecondHeld: now.perSecond,
        ratio: Math.round((100 * now.perSecond) / then.perSecond) / 100,
        p50MsBefore: then.p50Ms,
        p50MsHeld: now.p50Ms,
      });
    }
    return figures;
  } finally {
    await client.end();
  }
}
