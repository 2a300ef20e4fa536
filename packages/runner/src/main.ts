// baton agent run: runs any program as an agent.
import { BatonError } from '@baton/sdk';
import { ConnectionError, visible } from '@baton/sdk/node';
import { SettingsError } from '@baton/values/program-options';
import { runRunner } from './runner.ts';
import { readSettings, usage } from './settings.ts';

const notSignedIn = 4;
const stopping = new AbortController();
// Titles and lines from commands are text by other authors.
const say = (line: string) => console.error(visible(line));

function onSignal(): void {
  // When this process exits, the processes of the commands are killed (see Command).
  if (stopping.signal.aborted) process.exit(1);
  say('Stopping: commands get SIGTERM, and their tasks are released ... (again to stop at once)');
  stopping.abort();
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);

try {
  const settings = readSettings(process.argv.slice(2), process.env);
  if (settings === undefined) console.log(usage);
  else process.exitCode = await runRunner(settings, stopping.signal, say);
} catch (error) {
  if (error instanceof SettingsError) {
    say(error.message);
    process.exitCode = error.exitCode;
  } else if (error instanceof ConnectionError) {
    say(error.message);
    process.exitCode = 1;
  } else if (error instanceof BatonError) {
    const isRefused = error.status === 401 || error.code === 'invalid_assertion';
    say(
      isRefused
        ? error.status === 401
          ? 'Baton refuses the token: set BATON_TOKEN to a personal access token that is valid.'
          : 'Baton accepts no token of this job: compare its claims with the workload rules (docs/workload-identity/README.md).'
        : `Baton can't be used: ${error.code}: ${error.message}.`,
    );
    process.exitCode = isRefused ? notSignedIn : 1;
  } else throw error;
}
process.exit();
