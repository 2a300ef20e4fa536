import { CommandRefused, type OperatorTools } from '../operator-command.ts';
import { resealSecrets } from './reseal-secrets.ts';
import { readSealingKeys } from './sealing-keys.ts';

const usage = 'baton coordination secrets reseal';

/**
 * `baton coordination secrets reseal`: encrypts every stored secret with the first key of CP_SECRET_STORE_KEY_FILE, so
 * that the older keys can be removed from the file.
 * @param args the arguments after `secrets`
 * @returns the output
 * @throws CommandRefused `usage`, `no_key_file`, `not_all_resealed`
 */
export async function secretsCommand(tools: OperatorTools, args: readonly string[]): Promise<string> {
  if (args.length !== 1 || args[0] !== 'reseal') throw new CommandRefused('usage', usage);
  const { CP_SECRET_STORE_KEY_FILE: file } = tools.settings;
  if (file === '') throw new CommandRefused('no_key_file', 'CP_SECRET_STORE_KEY_FILE is not set.');
  const { resealed, unopened } = await resealSecrets(tools.pool, readSealingKeys(file));
  if (unopened > 0)
    throw new CommandRefused(
      'not_all_resealed',
      `${resealed} re-encrypted; ${unopened} cannot be decrypted with any key in the file and are unchanged.`,
    );
  return `${resealed} ${resealed === 1 ? 'secret' : 'secrets'} re-encrypted.\n`;
}
