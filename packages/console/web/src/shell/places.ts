interface Place {
  readonly to: string;
  readonly name: string;
  /** The letter that follows `g`. */
  readonly key: string;
  /**
   * The permission without which the page shows nothing. Without it, the navigation omits the page, but `Ctrl K` still
   * lists it.
   */
  readonly needs?: string;
}

/** The pages of the console, in the order of the navigation. */
export const places = [
  { to: '/overview', name: 'Overview', key: 'v', needs: 'tasks.read' },
  { to: '/', name: 'Work', key: 'w' },
  { to: '/inbox', name: 'Inbox', key: 'i' },
  { to: '/people', name: 'People and agents', key: 'm', needs: 'principals.read' },
  { to: '/agents', name: 'Agents and sessions', key: 'a', needs: 'sessions.manage' },
  { to: '/journal', name: 'Journal', key: 'j', needs: 'events.read' },
  { to: '/projects', name: 'Projects', key: 'p', needs: 'projects.read' },
  { to: '/processes', name: 'Processes', key: 'o', needs: 'processes.read' },
  { to: '/skills', name: 'Skills and tools', key: 'k', needs: 'org.read' },
  { to: '/knowledge', name: 'Knowledge', key: 'e', needs: 'rules.read' },
  { to: '/administration', name: 'Administration', key: 'd', needs: 'admin' },
  { to: '/system', name: 'System', key: 's' },
] as const satisfies readonly Place[];

/** The pages in the navigation of somebody with these permissions. */
export const placesFor = (permissions: readonly string[] | undefined) =>
  places.filter((place) => !('needs' in place) || permissions?.includes(place.needs));
