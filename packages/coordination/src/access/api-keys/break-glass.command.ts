import { parseArgs } from 'node:util';
import { CommandRefused, hostAccount, type OperatorTools } from '../operator-command.ts';
import { issueEmergencyKey, revokeEmergencyKeys } from './break-glass.ts';

const usage = `baton coordination break-glass issue --principal ID --reason TEXT [--ttl-seconds 3600]
       baton coordination break-glass revoke`;

const ttlSecondsDefault = '3600';

/**
 * `baton coordination break-glass …`: emergency API keys for an administrator while identity is unavailable.
 * @param args the arguments after `break-glass`
 * @returns the output; only that of `issue` contains the key
 * @throws CommandRefused
 */
export async function breakGlassCommand(tools: OperatorTools, args: readonly string[]): Promise<string> {
  const [verb, ...rest] = args;
  const options = readOptions(rest);
  // The second name is an older name for the same command.
  if (['revoke', 'revoke-all'].includes(verb ?? '') && rest.length === 0) {
    const revoked = await revokeEmergencyKeys(tools, hostAccount());
    return `Revoked ${revoked} emergency ${revoked === 1 ? 'key' : 'keys'}.\n`;
  }
  const { principal, reason, 'ttl-seconds': ttl = ttlSecondsDefault } = options;
  if (verb !== 'issue' || principal === undefined || reason === undefined)
    throw new CommandRefused('usage', usage);
  const ttlSeconds = /^\d{1,9}$/.test(ttl) ? Number(ttl) : Number.NaN;
  const request = { principalId: principal, ttlSeconds, reason, issuedBy: hostAccount() };
  const { key, expiresAt } = await issueEmergencyKey(tools, request);
  return `Emergency key until ${expiresAt}, shown once. It is a bearer credential with the permission admin.\n${key}\n`;
}

function readOptions(args: string[]) {
  try {
    const text = { type: 'string' } as const;
    return parseArgs({ args, options: { principal: text, reason: text, 'ttl-seconds': text } }).values;
  } catch {
    throw new CommandRefused('usage', usage);
  }
}
