/** The caller, as the audit record names it. */
export interface Caller {
  readonly actor: string;
}
