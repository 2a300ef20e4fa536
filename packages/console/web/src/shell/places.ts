/** The pages of the console, in the order of the navigation, each with the letter that follows `g`. */
export const places = [
  { to: '/', name: 'Work', key: 'w' },
  { to: '/inbox', name: 'Inbox', key: 'i' },
  { to: '/people', name: 'People and agents', key: 'm' },
  { to: '/agents', name: 'Agents and sessions', key: 'a' },
  { to: '/journal', name: 'Journal', key: 'j' },
  { to: '/projects', name: 'Projects', key: 'p' },
  { to: '/processes', name: 'Processes', key: 'o' },
  { to: '/skills', name: 'Skills and tools', key: 'k' },
  { to: '/knowledge', name: 'Knowledge', key: 'e' },
  { to: '/administration', name: 'Administration', key: 'd' },
  { to: '/system', name: 'System', key: 's' },
] as const;
