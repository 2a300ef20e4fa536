import type { Command } from 'commander';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from './command-context.ts';
import { show } from './show.ts';

/** `baton whoami`: the principal of the connection file and its permissions. */
export function addWhoami(program: Command, context: CommandContext): void {
  const command = program.command('whoami').description('show your principal and its permissions');
  withCommonOptions(command).action((options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const { tenant, principal, permissions } = await baton.harness.getContext();
      await show(context.output, options, { tenant, principal, permissions }, () => [
        `${principal.displayName} (${principal.kind}, ${principal.status}), principal ${principal.id}`,
        `tenant ${tenant.slug} (${tenant.name}), ${tenant.id}`,
        `permissions: ${permissions.join(', ') || 'none'}`,
      ]);
    }),
  );
}
