import type { Command } from 'commander';
import { findAccess } from './access.ts';
import { certificateProblem } from './certificate-error.ts';
import { type CommandContext, type CommonOptions, withCommonOptions } from './command-context.ts';
import { fieldsNamed } from './result-form.ts';
import { show } from './show.ts';

const answerMsMax = 10_000;

interface PartStatus {
  readonly part: string;
  readonly url: string;
  readonly ready: boolean;
  readonly says: string;
}

/** `baton status`: whether both services are ready; exits with 1 if one is not. */
export function addStatus(program: Command, context: CommandContext): void {
  const command = program.command('status').description('show whether both services are ready');
  withCommonOptions(command, fieldsNamed('part', 'url', 'ready', 'says')).action(
    async (options: CommonOptions) => {
      const { identityUrl, coordinationUrl } = findAccess(options, context.config);
      const parts = await Promise.all([
        statusOf('identity', identityUrl, '/healthz'),
        statusOf('coordination', coordinationUrl, '/health/ready'),
      ]);
      await show(context.output, options, parts, () =>
        parts.map(
          ({ part, url, ready, says }) => `${part.padEnd(12)}  ${ready ? 'up' : 'down'}  ${url}  ${says}`,
        ),
      );
      if (parts.some(({ ready }) => !ready)) process.exitCode = 1;
    },
  );
}

async function statusOf(part: string, url: string, path: string): Promise<PartStatus> {
  try {
    const answer = await fetch(url + path, { signal: AbortSignal.timeout(answerMsMax) });
    const { reason, revision } = (await answer.json()) as { reason?: string; revision?: string };
    return {
      part,
      url,
      ready: answer.status === 200,
      says: reason ?? (revision ? `schema ${revision}` : ''),
    };
  } catch (error) {
    return { part, url, ready: false, says: certificateProblem(error) ?? `${url} can't be reached.` };
  }
}
