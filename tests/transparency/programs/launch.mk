all: first second
first:
	@echo first; $(RUN) $(COMMAND)
second:
	@echo second
