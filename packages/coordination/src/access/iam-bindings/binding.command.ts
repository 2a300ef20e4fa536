import { CommandRefused, type OperatorTools } from '../operator-command.ts';
import { setBindingState } from './binding-state.ts';

const usage = `baton coordination binding disable ID
       baton coordination binding enable ID`;

/**
 * `baton coordination binding …`: disables or enables a binding without changing its permissions.
 * @param args the arguments after `binding`
 * @returns the output
 * @throws CommandRefused
 */
export async function bindingCommand(tools: OperatorTools, args: readonly string[]): Promise<string> {
  const [verb, bindingId, ...rest] = args;
  if ((verb !== 'disable' && verb !== 'enable') || bindingId === undefined || rest.length > 0)
    throw new CommandRefused('usage', usage);
  const changed = await setBindingState(tools, bindingId, verb === 'enable' ? 'active' : 'disabled');
  return changed ? `The binding is ${verb}d.\n` : `The binding was already ${verb}d.\n`;
}
