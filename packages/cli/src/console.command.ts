import type { Command } from 'commander';
import open from 'open';
import { type CommandContext, type CommonOptions, withCommonOptions } from './command-context.ts';
import { readConnection } from './connection.ts';
import { show } from './console-output.ts';
import { HttpClient, type HttpResponse } from './http-client.ts';
import { PlainError } from './plain-error.ts';

interface ConsoleOptions extends CommonOptions {
  readonly browser: boolean;
}

/** `baton console`: prints and opens an address that signs one browser in, within a minute. */
export function addConsole(program: Command, context: CommandContext): void {
  const command = program
    .command('console')
    .description('open the console in your browser, signed in')
    .option('--no-browser', 'print the address only');
  withCommonOptions(command).action(async (options: ConsoleOptions) => {
    const { coordinationUrl, adminToken } = readConnection(options, context.config);
    const client = new HttpClient(coordinationUrl);
    try {
      const url = signInUrl(
        coordinationUrl,
        await client.send('POST', '/console/codes', { body: { token: adminToken } }),
      );
      show(context.output, options.json, { url }, () => [
        'This address signs you in, once, within a minute:',
        url,
      ]);
      // Elsewhere, as in a script, a browser would surprise.
      if (options.browser && context.output.isTerminal) await open(url).catch(() => undefined);
    } finally {
      client.close();
    }
  });
}

function signInUrl(baseUrl: string, { status, body }: HttpResponse): string {
  const { code, error } = (body ?? {}) as { code?: string; error?: { message?: string } };
  if (status === 201 && code !== undefined) return `${baseUrl}/sign-in#code=${code}`;
  if (status === 404)
    throw new PlainError(`${baseUrl} serves no console: services that run apart have none.`);
  throw new PlainError(error?.message ?? `The console answered ${status}.`);
}
