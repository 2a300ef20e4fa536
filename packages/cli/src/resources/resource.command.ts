import type { Command } from 'commander';
import { visible } from '@baton/sdk/node';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { withLimit } from '../limit.ts';
import { type DeclaredResult, responseOf } from '../result-form.ts';
import { show, table } from '../show.ts';
import type { ActSpec, Item, ListSpec, Resource } from './resource.ts';

type Options = CommonOptions & Readonly<Record<string, string | number | boolean | undefined>>;

const pageMax = 200;
const listedMax = 100_000;

/** Adds the commands for one kind of object below its noun. */
export function addResource(program: Command, resource: Resource, context: CommandContext): Command {
  const group =
    program.commands.find((command) => command.name() === resource.noun) ??
    program.command(resource.noun).description(resource.summary);
  if (resource.list !== undefined) addList(group, resource.summary, resource.list, context);
  if (resource.view !== undefined) addView(group, resource.view, context);
  for (const act of resource.acts ?? []) addAct(group, act, context);
  return group;
}

function addList(group: Command, summary: string, list: ListSpec, context: CommandContext): void {
  const command = withCommonOptions(
    group.command('list').description(`list ${summary}`),
    formOf(list.operation),
  );
  for (const [flags, description] of list.filters) command.option(flags, description);
  withLimit(command, listedMax).action((options: Options) =>
    asCaller(options, context, async (baton, access) => {
      const { environment } = context.config;
      const limit = options['limit'] as number;
      const filters: Record<string, unknown> = {};
      for (const [flags, , find] of list.filters) {
        const name = nameOf(flags);
        const given = options[name];
        filters[name] = find !== undefined && typeof given === 'string' ? await find(baton, given) : given;
      }
      const items: Item[] = [];
      let hasMore = false;
      const query = { ...filters, limit: Math.min(limit, pageMax) };
      for await (const item of list.call({ baton, access, environment, args: [], options }, query)) {
        hasMore = items.length === limit;
        if (hasMore) break;
        items.push(item as Item);
      }
      await show(context.output, options, { items, hasMore }, () => [
        ...table(
          list.columns.map(([header]) => header),
          items.map((item) => list.columns.map(([, cell]) => text(cell(item)))),
          context.output.isTerminal ? context.output.columns : undefined,
          `There are no ${summary} here.`,
        ),
        ...(hasMore ? ['There are more: raise --limit.'] : []),
      ]);
    }),
  );
}

function addView(
  group: Command,
  { argument, operation, call }: NonNullable<Resource['view']>,
  context: CommandContext,
): void {
  withCommonOptions(
    group.command(`view <${argument}>`).description('show one'),
    responseOf(operation),
  ).action((arg: string, options: Options) =>
    asCaller(options, context, async (baton, access) => {
      const value = await call({
        baton,
        access,
        environment: context.config.environment,
        args: [arg],
        options,
      });
      await show(context.output, options, value, () => fieldLines(value as Item));
    }),
  );
}

function addAct(group: Command, act: ActSpec, context: CommandContext): void {
  const command = withCommonOptions(group.command(act.usage).description(act.summary), act.result);
  for (const [flags, description, parse] of act.options ?? [])
    if (parse === undefined) command.option(flags, description);
    else command.option(flags, description, parse);
  const count = command.registeredArguments.length;
  command.action((...given: unknown[]) => {
    const args = given.slice(0, count).map((one) => (one === undefined ? '' : String(one)));
    const options = given[count] as Options;
    return asCaller(options, context, async (baton, access) => {
      const value = await act.call({ baton, access, environment: context.config.environment, args, options });
      await show(context.output, options, value, () => act.says(value as Item).split('\n'));
    });
  });
}

const formOf = (operation: ListSpec['operation']): DeclaredResult =>
  typeof operation === 'string' ? responseOf(operation) : operation;

/** The name of an option in Commander: `--task-id <id>` is `taskId`. */
function nameOf(flags: string): string {
  const [, long = ''] = /--([\w-]+)/.exec(flags) ?? [];
  return long.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Every field of an object on its own line; documents as JSON. */
export function fieldLines(value: Item): string[] {
  const names = Object.keys(value);
  const width = Math.max(...names.map((name) => name.length), 0);
  return names
    .filter((name) => value[name] !== null && value[name] !== undefined)
    .map((name) => `${name.padEnd(width)}  ${text(value[name])}`);
}

function text(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'object') return JSON.stringify(value);
  // Escaped before the layout, so that the column widths are right.
  return visible(typeof value === 'string' ? value : JSON.stringify(value));
}
