import { CommandRefused, type OperatorTools } from '../operator-command.ts';
import { resealSecrets } from './resealing.ts';
import { readSealingKeys } from './sealing-keys.ts';

const usage = 'baton coordination secrets reseal';

/**
 * `baton coordination secrets reseal`: seals every stored secret with the first key of CP_SECRET_STORE_KEY_FILE, so that the
 * older ones can be taken out of the file.
 * @param args what follows `secrets`
 * @returns what to print
 * @throws CommandRefused `usage`, `no_key_file`, `not_all_resealed`
 */
export async function secretsCommand(tools: OperatorTools, args: readonly string[]): Promise<string> {
  if (args.length !== 1 || args[0] !== 'reseal') throw new CommandRefused('usage', usage);
  const { CP_SECRET_STORE_KEY_FILE: file } = tools.settings;
  if (file === '') throw new CommandRefused('no_key_file', 'CP_SECRET_STORE_KEY_FILE names no file of keys.');
  const { resealed, unopened } = await resealSecrets(tools.pool, readSealingKeys(file));
  if (unopened > 0)
    throw new CommandRefused(
      'not_all_resealed',
      `${resealed} sealed anew; ${unopened} can't be opened by any key of the file and stay as they are.`,
    );
  return `${resealed} ${resealed === 1 ? 'secret' : 'secrets'} sealed anew.\n`;
}
