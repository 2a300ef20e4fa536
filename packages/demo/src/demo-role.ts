/**
 * The slug of the role that every task of a demo requires. Each demo creates it in its own workspace, and assigns it to
 * its agents.
 */
export const demoRole = 'demo-agent';
