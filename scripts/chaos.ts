// npm run chaos [-- --seconds 600] [--tenants 2]: runs writers, consumers and random failures at the same time, on a
// separate PostgreSQL with two API processes and one worker, then compares every consumer with the journal's table.
// Takes ten minutes by default.
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { everyAct, runChaos } from '../e2e/chaos/chaos.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    tenants: { type: 'string', default: '2' },
  },
});
const [seconds, tenants] = [Number(values.seconds), Number(values.tenants)];
if (!(seconds >= 5 && seconds <= 86_400 && tenants >= 1 && tenants <= 10)) {
  console.error('Usage: npm run chaos [-- --seconds 5..86400] [--tenants 1..10]');
  process.exit(2);
}

const loadBefore = loadavg()[0] ?? 0;
console.log(`${seconds} s of chaos: ${everyAct.join(', ')}`);
const { problems, figures } = await runChaos({ seconds, tenants, actEveryMs: 1500 });
console.log(figures.join('\n'));
console.log(`${availableParallelism()} cores, load before ${loadBefore.toFixed(1)}`);
for (const problem of problems) console.error(problem);
console.log(
  problems.length === 0
    ? 'Nothing was lost, repeated, forged or out of order.'
    : `${problems.length} problems`,
);
process.exitCode = problems.length === 0 ? 0 : 1;
