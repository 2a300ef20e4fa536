import { type EventDeclaration, endpointsOf } from '@baton/kernel/http/service';
import type { Auth } from '../service/auth.ts';
import type { Context as LowerContext } from '../service/context.ts';
import type { Permission } from '../service/permissions.ts';
import type { ErrorCode } from './errors.ts';
import type { EventDraft } from './event-draft.ts';
import type { Settings } from './settings.ts';

/** The context of this layer's handlers. */
export interface Context extends LowerContext {
  readonly settings: Settings;
  /** The catalog of events; only these may be written. */
  readonly eventCatalog: ReadonlyMap<string, EventDeclaration>;
  /** The events of this change so far; written in one statement before the commit. Filled by `emit` only. */
  readonly drafts: EventDraft[];
  /** The default cause of the events of this change. */
  readonly causationId?: string;
  /** Set if a statement itself wrote its events, so that readers are notified. */
  wroteEvents: boolean;
}

/** Declares an operation of this layer; see `EndpointSpec` for each field. */
export const endpoint = endpointsOf<{
  code: ErrorCode;
  permission: Permission;
  auth: Auth;
  context: Context;
}>();
