/** The parameters in the URL of the overview. */
export interface OverviewSearch {
  /** The length of the range; 30 days by default. */
  readonly days?: 7 | 90;
  /** Id of a workspace. The figures include those of the workspaces below it. */
  readonly workspace?: string;
}

/** Parses the URL; unknown parameters are dropped. */
export function overviewSearch({ days, workspace }: Record<string, unknown>): OverviewSearch {
  return {
    ...((days === 7 || days === 90) && { days }),
    ...(typeof workspace === 'string' && /^[\da-f-]{36}$/.test(workspace) && { workspace }),
  };
}
