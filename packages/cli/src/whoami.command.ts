import type { Command } from 'commander';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from './command-context.ts';
import { fieldsNamed } from './result-form.ts';
import { show } from './show.ts';

/** `baton whoami`: the principal, the credential that identifies it, and its permissions. */
export function addWhoami(program: Command, context: CommandContext): void {
  const command = program
    .command('whoami')
    .description('show your principal, your credential, and your permissions');
  withCommonOptions(command, fieldsNamed('tenant', 'principal', 'permissions', 'url', 'source')).action(
    (options: CommonOptions) =>
      asCaller(options, context, async (baton, { coordinationUrl: url, source }) => {
        const { tenant, principal, permissions } = await baton.harness.getContext();
        await show(context.output, options, { tenant, principal, permissions, url, source }, () => [
          `${principal.displayName} (${principal.kind}, ${principal.status}), principal ${principal.id}`,
          `tenant ${tenant.slug} (${tenant.name}), ${tenant.id}`,
          `at ${url}, by ${source}`,
          `permissions: ${permissions.join(', ') || 'none'}`,
        ]);
      }),
  );
}
