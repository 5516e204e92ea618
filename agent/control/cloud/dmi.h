/* Which cloud made this machine, by what its firmware says (/sys/class/dmi/id). */
#ifndef HAWSER_AGENT_CONTROL_CLOUD_DMI_H
#define HAWSER_AGENT_CONTROL_CLOUD_DMI_H

/* A provider's name, or NULL: none that is known. */
const char *cloud_dmi_provider(const char *dir);

#endif
