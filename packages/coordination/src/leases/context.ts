import type { Context as LowerContext } from '../ledger/context.ts';
import type { Settings } from './settings.ts';

/** The context of this layer's verbs. The layer declares no operations. */
export interface Context extends LowerContext {
  readonly settings: Settings;
}
