import type { Command } from 'commander';
import { type CommandContext, type CommonOptions, withCommonOptions } from './command-context.ts';
import { readConnection } from './connection.ts';
import { show } from './console-output.ts';
import { HttpClient } from './http-client.ts';

interface PartStatus {
  readonly part: string;
  readonly url: string;
  readonly ready: boolean;
  readonly says: string;
}

/** `baton status`: whether both services are ready; exits with 1 when one is not. */
export function addStatus(program: Command, context: CommandContext): void {
  const command = program.command('status').description('show whether both services are up');
  withCommonOptions(command).action(async (options: CommonOptions) => {
    const { identityUrl, coordinationUrl } = readConnection(options, context.config);
    const parts = await Promise.all([
      statusOf('identity', identityUrl, '/healthz'),
      statusOf('coordination', coordinationUrl, '/health/ready'),
    ]);
    show(context.output, options.json, parts, () =>
      parts.map(
        ({ part, url, ready, says }) => `${part.padEnd(12)}  ${ready ? 'up' : 'down'}  ${url}  ${says}`,
      ),
    );
    if (parts.some(({ ready }) => !ready)) process.exitCode = 1;
  });
}

async function statusOf(part: string, url: string, path: string): Promise<PartStatus> {
  const http = new HttpClient(url);
  try {
    const { status, body } = await http.send('GET', path);
    const { reason, revision } = (body ?? {}) as { reason?: string; revision?: string };
    return { part, url, ready: status === 200, says: reason ?? (revision ? `schema ${revision}` : '') };
  } catch (error) {
    return { part, url, ready: false, says: (error as Error).message };
  } finally {
    http.close();
  }
}
