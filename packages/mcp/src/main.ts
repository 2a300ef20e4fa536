// baton mcp: an MCP server over standard input and output. Standard output carries messages only.
import { BatonError } from '@baton/sdk';
import { ConnectionError } from '@baton/sdk/node';
import { SettingsError } from '@baton/values/program-options';
import { readClientConfig, readSettings, usage } from './settings.ts';
import { serveOverStdio } from './stdio.ts';

const notSignedIn = 4;
/**
 * How often the server checks whether its client still runs. A killed client closes the pipe, unless another process
 * that it started keeps the pipe open.
 */
const orphanPollMs = 1_000;
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) stopping.abort();
}, orphanPollMs).unref();

try {
  const args = process.argv.slice(2);
  const config = readClientConfig(args, process.env);
  const settings = config === undefined ? readSettings(args, process.env) : undefined;
  if (config !== undefined) {
    console.log(config.text);
    for (const note of config.notes) console.error(note);
  } else if (settings === undefined) console.log(usage);
  else {
    if (process.stdin.isTTY)
      console.error(
        'An MCP server for agents, on standard input and output: add it to a client (docs/mcp.md).',
      );
    await serveOverStdio(settings, stopping.signal);
  }
} catch (error) {
  if (stopping.signal.aborted) process.exitCode = 0;
  else if (error instanceof SettingsError) {
    console.error(error.message);
    process.exitCode = error.exitCode;
  } else if (error instanceof ConnectionError) {
    console.error(error.message);
    process.exitCode = 1;
  } else if (error instanceof BatonError) {
    const isRefused = error.status === 401 || error.code === 'invalid_assertion';
    console.error(
      isRefused
        ? error.status === 401
          ? 'Baton refuses the token: set BATON_TOKEN to a personal access token that is valid.'
          : 'Baton accepts no token of this job: compare its claims with the workload rules (docs/workload-identity/README.md).'
        : `Baton can't be used: ${error.code}: ${error.message}.`,
    );
    process.exitCode = isRefused ? notSignedIn : 1;
  } else throw error;
}
// An open pipe must not keep the server alive after its client has exited.
process.exit();
