// npm run bench -- NAME [options]: measures one hot path on this machine; see docs/performance.md.
import { SettingError } from '@baton/kernel/process/config';
import { StartError } from '@baton/platform/start-error';
import { BenchError } from './bench-error.ts';
import { benchClaim } from './claim/claim.bench.ts';
import { benchCoordination } from './coordination/coordination.bench.ts';
import { benchIdentity } from './identity/identity.bench.ts';
import { benchJournal } from './journal/journal.bench.ts';
import { benchProcesses } from './processes/processes.bench.ts';
import { benchProjects } from './projects/projects.bench.ts';
import { benchScim } from './scim/scim.bench.ts';

const benches: Readonly<Record<string, (args: string[], stopping: AbortSignal) => Promise<void>>> = {
  claim: benchClaim,
  coordination: benchCoordination,
  identity: benchIdentity,
  journal: benchJournal,
  processes: benchProcesses,
  projects: benchProjects,
  scim: benchScim,
};

// An interrupted benchmark still stops its servers.
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stopping.abort());

const [name = '', ...args] = process.argv.slice(2);
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
if (bench === undefined) {
  console.error(
    `Usage: npm run bench -- NAME [options]; NAME is one of: ${Object.keys(benches).join(', ')}.`,
  );
  process.exitCode = 2;
} else {
  try {
    await bench(args, stopping.signal);
  } catch (error) {
    const isPlain = [BenchError, SettingError, StartError].some((kind) => error instanceof kind);
    const isUsage = String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS');
    if (!isPlain && !isUsage) throw error;
    console.error((error as Error).message);
    process.exitCode = isUsage ? 2 : 1;
  }
}
