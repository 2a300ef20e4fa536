import type { Context as LowerContext } from '../ledger/context.ts';
import type { Settings } from './settings.ts';

/** What a verb of this layer works with. The layer declares no operations of its own. */
export interface Context extends LowerContext {
  readonly settings: Settings;
}
